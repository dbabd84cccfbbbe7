import { FormatError } from "../../shared/assert.ts";
import { type EvaluationAnswer, EvaluationQuestion } from "../../shared/evaluation-report.ts";
import { listsKey } from "../../shared/manifest.ts";
import { parseWith } from "../../shared/parse-request.ts";
import { Problem } from "../../shared/problem.ts";
import { answerQuestion } from "../evaluate/answer-question.ts";
import { decodeDetail } from "../evaluate/evaluation-detail.ts";
import type { ObjectStore } from "../publish/object-store.ts";

type LiveModel = { readonly customer: string; readonly modelName: string; readonly version: string };

/** What the evaluation of a version says of the users, the items or the attribute that the body asks about. Throws Problem. */
export async function evaluationAnswer(
  { customer, modelName, version }: LiveModel,
  body: unknown,
  store: ObjectStore,
): Promise<EvaluationAnswer> {
  const question = parseWith(EvaluationQuestion, body);
  const found = await store.get(listsKey(customer, modelName, version));
  const hint = "train the model again to have them";
  if (found === undefined)
    throw new Problem(
      "artifact_unavailable",
      `The lists behind the report of version ${version} are not there: ${hint}.`,
    );
  try {
    return answerQuestion(decodeDetail(found.bytes), question);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new Problem("artifact_unavailable", `${error.message} ${hint}.`, { cause: error });
  }
}
