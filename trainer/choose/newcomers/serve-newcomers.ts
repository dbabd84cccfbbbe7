import type { Trial } from "../choosing/trial.ts";
import type { Validation } from "../choosing/validation.ts";
import { type EvaluateOptions, evaluate } from "../lists/evaluate.ts";
import { joined, restrictedTo } from "../lists/judged.ts";
import type { ServedValues } from "../lists/served.ts";

/**
 * A trial as it is served where users' attributes are: the lists of users without a history are made by them, all others stay. It was
 * compared with others without, since attributes would help each of them alike.
 */
export async function serveNewcomers(
  trial: Trial,
  { split: { cases } }: Validation,
  { values, ...options }: Omit<EvaluateOptions, "positions"> & { readonly values: ServedValues | undefined },
): Promise<Trial> {
  if (values === undefined) return trial;
  const { positions } = trial.evaluation;
  const isNew = (at: number) => cases.caseAt(at).items.length === 0;
  const newcomers = positions.filter(isNew);
  if (newcomers.length === 0) return trial;
  const own = await evaluate(cases, { ...trial.served, values }, { ...options, positions: newcomers });
  const others = restrictedTo(
    trial.evaluation,
    positions.filter((at) => !isNew(at)),
  );
  return { ...trial, evaluation: joined(others, own) };
}
