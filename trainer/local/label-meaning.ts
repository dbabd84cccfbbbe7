import { identifier } from "../read/connectors/duckdb/quote.ts";

/** What a label column says: yes and no, or how much, and from where on that is a yes. */
export type LabelMeaning = {
  readonly column: string;
  readonly label:
    | { readonly type: "Binary"; readonly name: string }
    | { readonly type: "Rating"; readonly name: string; readonly positive_from: number };
  /** For the person at the terminal. */
  readonly sentence: string;
  /** SQL that holds for a positive row. */
  readonly positive: string;
};

/** A scale this narrow is one of stars or marks; on a wider one, such as play counts, the middle value divides. */
const SCALE_WIDTH_MAX = 10;
/** Share of the scale above which a mark is a good one: 4 of 1…5, 4 of 0.5…5, 7 of 1…10. */
const GOOD_SHARE = 0.6;

/**
 * What a label column means, by its values.
 *
 * @param ask Answers SQL expressions over the whole table, by their names.
 */
export async function labelMeaning(
  column: string,
  ask: (expressions: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<LabelMeaning> {
  const name = identifier(column);
  const number = `TRY_CAST(${name} AS DOUBLE)`;
  const found = await ask(
    `min(${number}) AS least, max(${number}) AS most, median(${number}) AS middle, ` +
      `count(*) FILTER (WHERE ${number} NOT IN (0, 1)) AS others`,
  );
  const [least, most, middle, others] = ["least", "most", "middle", "others"].map((key) => Number(found[key]));
  if (found.least === null || others === 0) {
    const positive = `lower(CAST(${name} AS VARCHAR)) IN ('1', '1.0', 'true', 't', 'yes', 'y')`;
    return { column, label: { type: "Binary", name: column }, sentence: "positive where it is 1 or true", positive };
  }
  const width = most! - least!;
  const from = width <= SCALE_WIDTH_MAX ? Math.min(most!, Math.ceil(least! + GOOD_SHARE * width)) : middle!;
  return {
    column,
    label: { type: "Rating", name: column, positive_from: from },
    sentence: `a number from ${least} to ${most}, positive from ${from}`,
    positive: `${number} >= ${from}`,
  };
}
