import { expect, test } from "vitest";
import { scenarioText } from "../../../../trainer/choose/scenarios/scenario-text.ts";

const exact = (value: number) => ({ value, low: value, high: value });
const figures = {
  ...{ users: 7, lists: 9, limit: 5 },
  left_out: ["/retrieval/brand is not an attribute"],
  without: { "ndcg@5": exact(0.5) },
  with: { "ndcg@5": { value: 0.4, low: 0.3, high: 0.5 } },
  difference: { "ndcg@5": { value: -0.1, low: -0.2, high: 0 } },
};

test("a table of figures, and a plot with one mark for each diversity", () => {
  const curve = Array.from({ length: 11 }, (_, i) => {
    return { diversity: i / 10, ndcg: exact(0.5 - i / 100), coverage: exact(0.2 + i / 20) };
  });
  const text = scenarioText({ ...figures, curve });
  expect(text).toContain("left out: /retrieval/brand");
  expect(text).toMatch(
    /ndcg@5 +0\.5000 \[0\.5000, 0\.5000\] +0\.4000 \[0\.3000, 0\.5000\] +−0\.1000 \[−0\.2000, \+0\.0000\]/,
  );
  const plot = text.split("\n").filter((line) => /^ *[\d.]* \|/.test(line));
  expect(plot[0]).toBe(" 0.5000 |0".replace(" 0", "  0")); // the most relevant, at the left
  expect(plot.at(-1)).toMatch(/^ {2}0\.4000 \| +X$/);
  expect(plot.at(-1)!.length).toBe(70);
  const marks = plot.map((line) => line.split("|")[1]!.trim()).join("");
  expect(marks).toBe("0123456789X");
  expect(text).toContain("0.2000");
});

test("equal points share a place, where the least diversity shows", () => {
  const point = { ndcg: exact(0.5), coverage: exact(0.2) };
  const curve = [0, 0.5, 1].map((diversity) => ({ diversity, ...point }));
  const plot = scenarioText({ ...figures, curve })
    .split("\n")
    .filter((line) => line.includes("|"));
  expect(plot.map((line) => line.split("|")[1]!.trim()).join("")).toBe("0");
});

test("without item attributes there is no plot", () =>
  expect(scenarioText({ ...figures, curve: [] })).toContain("No plot of diversity: the items have no attributes."));
