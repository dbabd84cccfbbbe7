import { type ItemColumns, knownNames } from "../../../shared/known-names.ts";
import type { Scenario } from "../../../shared/scenario.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { countRecentChoices } from "../../learn/statistics/recent-choices.ts";
import type { Dataset } from "../../read/dataset/dataset.ts";
import { itemFiles } from "../../read/dataset/item-files.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import { positivesOf } from "../report/report.ts";
import { diversityCurve, measureScenario, SCENARIO_LISTS_MAX } from "../scenarios/measure-scenario.ts";
import type { ScenarioResult } from "../scenarios/scenario-text.ts";

export type FileScenario = ItemColumns & { readonly scenario: Scenario };

type Tested = {
  readonly train: Dataset;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
  readonly served: Served;
};
type Options = {
  readonly seed: number;
  readonly includeSeen: boolean;
  readonly memoryMbMax: number;
  readonly signal: AbortSignal;
};

/** What a scenario changes in the lists of the chosen model, and what diversity would, measured on the test file. */
export async function scenarioOnFiles(
  { scenario, ...columns }: FileScenario,
  { train, cases, positions, served }: Tested,
  { seed, includeSeen, memoryMbMax, signal }: Options,
): Promise<ScenarioResult> {
  const names = knownNames(itemFiles(train, columns));
  const withChoices = { ...served, recentChoices: countRecentChoices(train) };
  const measurable = { cases, served: withChoices, names, popularity: positivesOf(train) };
  const some = samplePositions(positions.length, SCENARIO_LISTS_MAX, seededRandom(seed, 73));
  const options = { signal, memoryMbMax, includeSeen, positions: some.map((i) => positions[i]!) };
  return {
    ...(await measureScenario(measurable, scenario, options)),
    curve: await diversityCurve(measurable, scenario, options),
  };
}
