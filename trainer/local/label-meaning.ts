import { identifier } from "../read/connectors/sql-text.ts";

/** How the values of a label column are read: as yes and no, or as a rating with a threshold. */
export type LabelMeaning = {
  readonly column: string;
  readonly label:
    | { readonly type: "Binary"; readonly name: string }
    | { readonly type: "Rating"; readonly name: string; readonly positive_from: number };
  /** A description for the terminal. */
  readonly sentence: string;
  /** SQL condition that is true for positive rows. */
  readonly positive: string;
};

/** Ranges up to this width are taken for star ratings or marks. For wider ones, such as play counts, the median is the threshold. */
const SCALE_WIDTH_MAX = 10;
/** Fraction of the scale from which a mark counts as positive: 4 of 1…5, 4 of 0.5…5, 7 of 1…10. */
const GOOD_FRACTION = 0.6;

/**
 * Infers the meaning of a label column from its values.
 *
 * @param select Evaluates SQL aggregates over the whole table and returns them by name.
 */
export async function labelMeaning(
  column: string,
  select: (expressions: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<LabelMeaning> {
  const name = identifier(column);
  const number = `TRY_CAST(${name} AS DOUBLE)`;
  const found = await select(
    `min(${number}) AS minimum, max(${number}) AS maximum, median(${number}) AS median, ` +
      `count(*) FILTER (WHERE ${number} NOT IN (0, 1)) AS others`,
  );
  const [minimum, maximum, median, others] = ["minimum", "maximum", "median", "others"].map((key) =>
    Number(found[key]),
  );
  if (found.minimum === null || others === 0) {
    const positive = `lower(CAST(${name} AS VARCHAR)) IN ('1', '1.0', 'true', 't', 'yes', 'y')`;
    return { column, label: { type: "Binary", name: column }, sentence: "positive where it is 1 or true", positive };
  }
  const width = maximum! - minimum!;
  const from = width <= SCALE_WIDTH_MAX ? Math.min(maximum!, Math.ceil(minimum! + GOOD_FRACTION * width)) : median!;
  return {
    column,
    label: { type: "Rating", name: column, positive_from: from },
    sentence: `a number from ${minimum} to ${maximum}, positive from ${from}`,
    positive: `${number} >= ${from}`,
  };
}
