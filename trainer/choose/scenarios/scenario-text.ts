/** The effect of a scenario as text for a terminal: a table, and a plot of relevance against coverage. */
import type { MeasuredMean, ScenarioFigures } from "../../../shared/evaluation-report.ts";
import { four, signed } from "../evaluate/evaluation-figures.ts";
import type { DiversityPoint } from "./measure-scenario.ts";

export type ScenarioResult = ScenarioFigures & {
  /** The scenario with `diversity` from 0 to 1; empty without item attributes. */
  readonly curve: readonly DiversityPoint[];
};

export function scenarioText({ curve, ...figures }: ScenarioResult): string {
  const { users, lists, limit, without, with: own, difference, left_out: leftOut } = figures;
  const rows = Object.keys(without).map((name) =>
    row(name, interval(without[name]!, four), interval(own[name]!, four), interval(difference[name]!, signed)),
  );
  const lines = [
    `Scenario: ${lists} lists of ${limit} items for ${users} users, with 95 % intervals`,
    ...leftOut.map((problem) => `left out: ${problem}`),
    "",
    row("figure", "without", "with", "difference"),
    ...rows,
    "",
  ];
  const plot = curve.length > 0 ? plotLines(curve, limit) : ["No plot of diversity: the items have no attributes.", ""];
  return [...lines, ...plot].join("\n");
}

const row = (...[name, ...cells]: readonly string[]) =>
  [name!.padEnd(26), ...cells.map((cell) => cell.padStart(26))].join(" ");

const interval = ({ value, low, high }: MeasuredMean, textOf: (value: number | null) => string) =>
  `${textOf(value)} [${textOf(low)}, ${textOf(high)}]`;

const WIDTH = 60;
const HEIGHT = 14;

function plotLines(curve: readonly DiversityPoint[], limit: number): string[] {
  const x = scaleOf(curve.map(({ coverage }) => coverage.value ?? 0));
  const y = scaleOf(curve.map(({ ndcg }) => ndcg.value ?? 0));
  const grid = Array.from({ length: HEIGHT }, () => Array<string>(WIDTH).fill(" "));
  for (const point of curve.toReversed()) {
    const line = grid[HEIGHT - 1 - y.placeOf(point.ndcg.value ?? 0, HEIGHT)]!;
    line[x.placeOf(point.coverage.value ?? 0, WIDTH)] = markOf(point.diversity);
  }
  const labels = grid.map((_, i) => (i === 0 ? four(y.most) : i === HEIGHT - 1 ? four(y.least) : "").padStart(8));
  return [
    `NDCG@${limit} (up) against coverage@${limit} (right) for diversity 0 to 1; 3 stands for 0.3, X for 1:`,
    "",
    ...grid.map((line, i) => `${labels[i]} |${line.join("")}`.trimEnd()),
    `${"".padStart(8)} +${"-".repeat(WIDTH)}`,
    `${"".padStart(10)}${four(x.least).padEnd(WIDTH - 6)}${four(x.most)}`,
    "",
    row("diversity", `ndcg@${limit}`, `coverage@${limit}`),
    ...curve.map(({ diversity, ndcg, coverage }) =>
      row(diversity.toFixed(1), interval(ndcg, four), interval(coverage, four)),
    ),
    "",
  ];
}

const markOf = (diversity: number) => (diversity === 1 ? "X" : String(Math.round(diversity * 10)));

function scaleOf(values: readonly number[]) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const placeOf = (value: number, places: number) =>
    most > least ? Math.round(((value - least) / (most - least)) * (places - 1)) : 0;
  return { least, most, placeOf };
}
