import type { Figure } from "./bench.ts";
import { QUALITY_TASKS, taskName } from "./quality-tasks.ts";

/** One row of the table of required quality. */
type Required = {
  readonly what: string;
  /** Figures by name with their minimum (or `atMost`): a value, or a fraction of another figure. */
  readonly bounds: readonly Bound[];
};
type Bound = {
  readonly figure: string;
  readonly value: number | { readonly shareOf: string };
  readonly atMost?: true;
};

const pair = (name: string, k: number, [recall, ndcg]: readonly [number, number]) => [
  { figure: `${name}.recall@${k}`, value: recall },
  { figure: `${name}.ndcg@${k}`, value: ndcg },
];
/** The best method of a task reaches the task's target. */
const targetOf = (what: string, name: string): Required => {
  const { k, target } = QUALITY_TASKS.find((task) => taskName(task) === name)!;
  return { what, bounds: pair(`quality.${name}.best`, k, target!) };
};
/** How much worse the automatic choice may be than the best in hindsight. */
const CHOICE_SHARE = 0.99;
const choice = (task: string, k: number): Required => ({
  what: `${task}, automatic choice, of the best`,
  bounds: [{ figure: `quality.${task}.chosen.ndcg@${k}`, value: { shareOf: `quality.${task}.best.ndcg@${k}` } }],
});

const REQUIRED: readonly Required[] = [
  targetOf("ml-1m, next item, any method", "ml-1m.next-item"),
  {
    what: "ml-1m, next item, closed form within 30 s",
    bounds: [
      ...pair("quality.ml-1m.next-item.sequential_ridge", 10, [0.2785, 0.163]),
      { figure: "quality.ml-1m.next-item.sequential_ridge.fit_seconds", value: 30, atMost: true },
    ],
  },
  targetOf("amazon-beauty, next item", "amazon-beauty.next-item"),
  targetOf("amazon-beauty with its catalog, next item", "amazon-beauty.next-item-described"),
  targetOf("amazon-games, next item", "amazon-games.next-item"),
  targetOf("ml-100k, sets", "ml-100k.set"),
  targetOf("ml-1m, sets", "ml-1m.set"),
  { what: "yelp2018, sets, automatic choice", bounds: pair("quality.yelp2018.set.chosen", 20, [0.0725, 0.0599]) },
  { what: "amazon-beauty, cold items", bounds: pair("quality.amazon-beauty.cold.attribute_ridge", 10, [0.16, 0.105]) },
  { what: "amazon-beauty, new items", bounds: pair("quality.amazon-beauty.cold.new_items", 10, [0.16, 0.105]) },
  ...[1000, 5000].map(
    (rows): Required => ({
      what: `ml-100k, ${rows} rows, at least popularity`,
      bounds: [{ figure: `quality.ml-100k.${rows}-rows.chosen.ndcg@10`, value: { shareOf: "reference" } }],
    }),
  ),
  ...["ml-100k", "ml-1m"].map(
    (set): Required => ({
      what: `${set}, users without a history, at least popularity`,
      bounds: ["ndcg@10", "recall@20"].map((metric) => {
        return { figure: `quality.${set}.hidden-users.attributes.${metric}`, value: { shareOf: "reference" } };
      }),
    }),
  ),
  {
    what: "retailrocket, sessions, at least the best of V-SKNN, STAN, SLIST and S-Walk",
    bounds: ["hr@20", "mrr@20"].map((metric) => {
      return { figure: `quality.retailrocket.sessions.chosen.${metric}`, value: { shareOf: "reference" } };
    }),
  },
  choice("ml-1m.next-item", 10),
  choice("amazon-beauty.next-item", 10),
  choice("amazon-beauty.next-item-described", 10),
  choice("amazon-games.next-item", 10),
  choice("ml-100k.next-item", 10),
  choice("ml-100k.set", 20),
  choice("ml-1m.set", 20),
];

export type RequiredTable = {
  readonly text: string;
  /** The requirements that were measured and missed. */
  readonly unmet: readonly string[];
};

/** Formats requirements and measurements as a table; a dash where this run measured nothing. */
export function requiredTable(figures: readonly Figure[]): RequiredTable {
  const byName = new Map(figures.map((figure) => [figure.name, figure]));
  const rows = REQUIRED.map(({ what, bounds }) => {
    const measured = bounds.map(({ figure }) => byName.get(figure));
    const needed = bounds.map(({ value }, i) => {
      if (typeof value === "number") return value;
      if (value.shareOf === "reference") return measured[i]?.reference;
      const best = byName.get(value.shareOf)?.value;
      return best === undefined ? undefined : CHOICE_SHARE * best;
    });
    const isMeasured = measured.every((figure) => figure !== undefined) && !needed.includes(undefined);
    const isMet =
      isMeasured &&
      bounds.every(({ atMost }, i) => {
        const over = measured[i]!.value - needed[i]!;
        return atMost ? over <= 0 : over >= -1e-12;
      });
    const shown = (values: readonly (number | undefined)[]) =>
      values.map((value) => (value === undefined ? "–" : value.toFixed(4))).join(" / ");
    return [
      what,
      shown(needed),
      shown(measured.map((figure) => figure?.value)),
      isMeasured ? (isMet ? "yes" : "NO") : "–",
    ];
  });
  const table = [["what", "required", "measured", "met"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return { text: lines.join("\n"), unmet: rows.filter((row) => row[3] === "NO").map((row) => row[0]!) };
}
