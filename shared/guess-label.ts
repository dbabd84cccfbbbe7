import type { Label } from "./label.ts";

/** What is known of the values in a column of labels. Values that are no finite numbers are left out, except in `rows`. */
export type LabelFacts = {
  /** Rows that have a value. */
  readonly rows: number;
  /** Rows whose value is a number other than 0 and 1. */
  readonly others: number;
  readonly areWhole: boolean;
  readonly lowest: number;
  /** The smallest value that at least half of the rows do not exceed. */
  readonly median: number;
  /** The smallest value above the lowest one, and above 0; null: there is none. */
  readonly second: number | null;
  readonly aboveZero: number | null;
};

/**
 * Guesses what a column of labels means. Only 0 and 1, or words, are no and yes. Anything else is a rating, which is positive from its
 * median on, but always above the lowest value and above 0 if there are values below 0: most people who dislike do not like.
 */
export function guessLabel(name: string, facts: LabelFacts): Label {
  const { others, areWhole, lowest, median, second, aboveZero } = facts;
  if (others === 0) return { type: "Binary", name };
  const aboveLowest = lowest === 0 && areWhole ? 1 : (second ?? lowest);
  const middle = median > lowest ? median : aboveLowest;
  return { type: "Rating", name, positive_from: lowest < 0 ? Math.max(middle, aboveZero ?? 1) : middle };
}

/** The facts of some values, such as those of a sample. */
export function labelFacts(values: readonly unknown[]): LabelFacts {
  const present = values.filter((value) => value !== null && value !== undefined && value !== "");
  const numbers = present.filter((value) => typeof value === "number" && Number.isFinite(value)) as number[];
  numbers.sort((a, b) => a - b);
  const lowest = numbers[0] ?? 0;
  return {
    rows: present.length,
    others: numbers.filter((value) => value !== 0 && value !== 1).length,
    areWhole: numbers.every(Number.isInteger),
    lowest,
    median: numbers[Math.ceil(numbers.length / 2) - 1] ?? 0,
    second: numbers.find((value) => value > lowest) ?? null,
    aboveZero: numbers.find((value) => value > 0) ?? null,
  };
}
