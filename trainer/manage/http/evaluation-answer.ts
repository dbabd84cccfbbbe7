import { FormatError } from "../../../shared/assert.ts";
import { isErased } from "../../../shared/erased-users.ts";
import { type EvaluationAnswer, EvaluationQuestion, type ScenarioAnswer } from "../../../shared/evaluation-report.ts";
import type { UserId } from "../../../shared/ids.ts";
import { listsKey, replayKey } from "../../../shared/manifest.ts";
import { parseWith } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";
import { requireScenarioName } from "../../../shared/scenario.ts";
import { readErasedUsers } from "../../store/erased-list.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { readScenario } from "../../store/scenarios.ts";
import type { Evaluations, StoredFile } from "../questions/evaluations.ts";

export type AnswerContext = {
  readonly store: ObjectStore;
  readonly evaluations: Evaluations;
  /** Aborts when the caller hangs up. */
  readonly caller: AbortSignal;
};

type LiveModel = { readonly customer: string; readonly modelName: string; readonly version: string };

/**
 * The evaluation's metrics for the users, the items, the attribute or the scenario that the body names. Users who were erased after the
 * evaluation are reported as not measured. Throws Problem.
 */
export async function evaluationAnswer(
  live: LiveModel,
  body: unknown,
  { store, evaluations, caller }: AnswerContext,
): Promise<EvaluationAnswer | ScenarioAnswer> {
  const { customer, version } = live;
  const question = parseWith(EvaluationQuestion, body);
  const asker = { customer, caller };
  try {
    if (question.scenario !== undefined) {
      const scenario = await readScenario(store, live, requireScenarioName(question.scenario));
      const replay = await storedFile(store, replayKey, live);
      return { scenario: question.scenario, version, ...(await evaluations.measure(replay, scenario, asker)) };
    }
    const lists = await storedFile(store, listsKey, live);
    if (question.user_ids === undefined) return await evaluations.answer(lists, question, asker);
    const erased = await erasedOf(question.user_ids, customer, store);
    const user_ids = question.user_ids.filter((id) => !erased.includes(id));
    const measured = await evaluations.answer(lists, { ...question, user_ids }, asker);
    return { ...measured, not_measured: [...measured.not_measured, ...erased] };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const detail = `${error.message} train the model again to have them.`;
    throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 60 });
  }
}

/** A file beside the report. Throws FormatError when it is absent, as in versions of older releases. */
async function storedFile(
  store: ObjectStore,
  keyOf: typeof listsKey,
  { customer, modelName, version }: LiveModel,
): Promise<StoredFile> {
  const key = keyOf(customer, modelName, version);
  const missing = () => new FormatError(`The lists behind the report of version ${version} are not there:`);
  const packedBytes = await store.head(key);
  if (packedBytes === undefined) throw missing();
  const read = async () => {
    const found = await store.get(key);
    if (found === undefined) throw missing();
    return found.bytes;
  };
  return { packedBytes, read };
}

async function erasedOf(ids: readonly (string | number)[], customer: string, store: ObjectStore) {
  const list = await readErasedUsers(store, customer);
  if (list === undefined) return [];
  const areErased = await Promise.all(ids.map((id) => isErased(list, String(id) as UserId)));
  return ids.filter((_, i) => areErased[i]);
}
