/** How good lists are with and without a scenario, through the ranking function of the edge. */
import { parseRankBody } from "../../../shared/api.ts";
import type { MeasuredMean, ScenarioFigures } from "../../../shared/evaluation-report.ts";
import { referenceName } from "../../../shared/filter/references.ts";
import { fittingPart, type Scenario } from "../../../shared/scenario.ts";
import type { KnownNames } from "../../../shared/snapshot.ts";
import { type EvaluateRequestsOptions, type Evaluation, evaluateRequests } from "../evaluate/evaluate.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { measured, measuredLift, usersIn } from "../evaluate/evaluation-figures.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import { measuredShape, measuredShapeLift, shapeFigures } from "../evaluate/shape-intervals.ts";

/** A model with the lists that it can be measured on. */
export type Measurable = {
  readonly cases: EvaluationCases;
  readonly served: Served;
  readonly names: KnownNames;
  /** [itemCount] positives of the training part. */
  readonly popularity: ArrayLike<number>;
};

export type MeasureOptions = Omit<EvaluateRequestsOptions, "cutOffs" | "names"> & {
  /** Whether seen items are targets, and may be shown unless the scenario forbids it. */
  readonly includeSeen?: boolean;
};

/** Upper bound of the lists. With 5,000 lists, an NDCG difference of about .005 is outside its interval. */
export const SCENARIO_LISTS_MAX = 5000;
const CUT_OFFS = [5, 10, 20];
/** Seed of the intervals; fixed, so that the same question gets the same answer. */
const SEED = 1;

/**
 * Measures the same lists without and with a scenario, both of the scenario's length. The parts that do not fit are left out and named.
 */
export async function measureScenario(
  { cases, served, names, popularity }: Measurable,
  scenario: Scenario,
  options: MeasureOptions,
): Promise<ScenarioFigures> {
  const { fields, problems } = measurablePart(scenario, { names, served }, options);
  const request = parseRankBody({ ...defaultsFor(options, fields), ...fields });
  const { limit } = request;
  const cutOffs = [...CUT_OFFS.filter((k) => k < limit), limit];
  const requests = [parseRankBody({ ...defaultsFor(options), limit }), request];
  const [plain, shaped] = (await evaluateRequests(cases, served, requests, { ...options, cutOffs, names })) as [
    Evaluation,
    Evaluation,
  ];
  const resampling = { seed: SEED, kept: [] };
  const [plainShape, ownShape] = [shapeFigures(plain, popularity), shapeFigures(shaped, popularity)];
  return {
    users: usersIn(plain),
    lists: plain.positions.length,
    limit,
    left_out: problems,
    without: { ...measured(plain, resampling), ...measuredShape(plainShape) },
    with: { ...measured(shaped, resampling), ...measuredShape(ownShape) },
    difference: { ...measuredLift(shaped, plain, resampling), ...measuredShapeLift(ownShape, plainShape) },
  };
}

/** The parts of a scenario that fit the model and can be measured on its cases. */
function measurablePart(
  scenario: Scenario,
  { names, served }: Pick<Measurable, "names" | "served">,
  { includeSeen }: MeasureOptions,
) {
  // The held-out cases have their users' attributes, but neither ids nor what calls send.
  const known = new Set(served.values?.attributes?.map((name) => referenceName({ from: "user", name })));
  const { fields, problems } = fittingPart(scenario, names, (reference) => known.has(reference));
  if (fields.seen !== "only" || includeSeen) return { fields, problems };
  const { seen: _, ...others } = fields;
  const problem = "/seen is only, but the items that users are expected to choose in the evaluation are new to them";
  return { fields: others, problems: [...problems, problem] };
}

const defaultsFor = ({ includeSeen }: MeasureOptions, { seen }: Scenario = {}) =>
  includeSeen && seen === undefined ? { exclude_seen: false } : {};

/** One point of the curve: relevance and variety of the lists with a certain diversity. */
export type DiversityPoint = {
  readonly diversity: number;
  readonly ndcg: MeasuredMean;
  readonly coverage: MeasuredMean;
};

const DIVERSITIES = Array.from({ length: 11 }, (_, tenths) => tenths / 10);

/** The scenario with `diversity` from 0 to 1, at the length of its lists. Empty if the version has no item attributes. */
export async function diversityCurve(
  { cases, served, names, popularity }: Measurable,
  scenario: Scenario,
  options: MeasureOptions,
): Promise<readonly DiversityPoint[]> {
  if (!names.attributes) return [];
  const { fields } = measurablePart(scenario, { names, served }, options);
  const requests = DIVERSITIES.map((diversity) =>
    parseRankBody({ ...defaultsFor(options, fields), ...fields, diversity }),
  );
  const k = requests[0]!.limit;
  const evaluations = await evaluateRequests(cases, served, requests, { ...options, cutOffs: [k], names });
  const resampling = { seed: SEED, kept: [] };
  return evaluations.map((evaluation, i) => ({
    diversity: DIVERSITIES[i]!,
    ndcg: measured(evaluation, resampling)[`ndcg@${k}`]!,
    coverage: measuredShape(shapeFigures(evaluation, popularity))[`coverage@${k}`]!,
  }));
}
