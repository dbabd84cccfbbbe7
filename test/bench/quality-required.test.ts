import { expect, test } from "vitest";
import { requiredTable } from "./quality-required.ts";

const share = (name: string, value: number, reference?: number) => ({
  name,
  value,
  unit: "share",
  ...(reference === undefined ? {} : { reference }),
});
const lineOf = ({ text }: { text: string }, what: string) => text.split("\n").find((line) => line.startsWith(what))!;

test("both figures must be reached, and what was not measured is said", () => {
  const name = "quality.amazon-beauty.next-item.best";
  const met = requiredTable([share(`${name}.recall@10`, 0.1), share(`${name}.ndcg@10`, 0.062)]);
  expect(lineOf(met, "amazon-beauty, next item ")).toMatch(/0\.0990 \/ 0\.0620 +0\.1000 \/ 0\.0620 +yes$/);
  const missed = requiredTable([share(`${name}.recall@10`, 0.1), share(`${name}.ndcg@10`, 0.0619)]);
  expect(lineOf(missed, "amazon-beauty, next item ")).toMatch(/NO$/);
  expect([met.unmet, missed.unmet]).toEqual([[], ["amazon-beauty, next item"]]);
  expect(lineOf(missed, "ml-1m, sets")).toMatch(/– \/ – +–$/);
});
test("the automatic choice must be within one percent of the best", () => {
  const figures = (chosen: number) => [
    share("quality.ml-1m.set.best.ndcg@20", 0.4),
    share("quality.ml-1m.set.chosen.ndcg@20", chosen),
  ];
  expect(lineOf(requiredTable(figures(0.397)), "ml-1m.set, automatic")).toMatch(/0\.3960 +0\.3970 +yes$/);
  expect(lineOf(requiredTable(figures(0.395)), "ml-1m.set, automatic")).toMatch(/NO$/);
});
test("on few rows popularity is what must be reached", () => {
  const line = (value: number) =>
    lineOf(requiredTable([share("quality.ml-100k.1000-rows.chosen.ndcg@10", value, 0.01)]), "ml-100k, 1000 rows");
  expect([line(0.01), line(0.009)].map((text) => text.split(" ").at(-1))).toEqual(["yes", "NO"]);
});
test("a closed form must be quick too", () => {
  const name = "quality.ml-1m.next-item.sequential_ridge";
  const line = (seconds: number) => {
    const figures = [share(`${name}.recall@10`, 0.28), share(`${name}.ndcg@10`, 0.164)];
    return lineOf(requiredTable([...figures, share(`${name}.fit_seconds`, seconds)]), "ml-1m, next item, closed form");
  };
  expect([line(30), line(31)].map((text) => text.split(" ").at(-1))).toEqual(["yes", "NO"]);
});
