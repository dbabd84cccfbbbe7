import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { labelMeaning } from "../../../trainer/local/label-meaning.ts";

/** What is made of a column with these values, and how many of them are then positive. */
async function meaningOf(values: string): Promise<{ label: unknown; sentence: string; positives: number }> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(`CREATE TABLE t AS SELECT unnest([${values}]) AS "the label"`);
  const ask = async (expressions: string) =>
    (await connection.runAndReadAll(`SELECT ${expressions} FROM t`)).getRowObjectsJson()[0]!;
  const meaning = await labelMeaning("the label", ask);
  const { positives } = await ask(`count(*) FILTER (WHERE ${meaning.positive}) AS positives`);
  connection.closeSync();
  return { label: meaning.label, sentence: meaning.sentence, positives: Number(positives) };
}
const binary = { type: "Binary", name: "the label" };
const rating = (from: number) => ({ type: "Rating", name: "the label", positive_from: from });

test.each([
  ["0, 1, 1, NULL", 2],
  ["true, false", 1],
  ["'1', '0', '1'", 2],
  ["'yes', 'no'", 1],
  ["1.0, 0.0", 1],
  ["1, 1", 2],
])("%s is read as yes and no", async (values, positives) => {
  expect(await meaningOf(values)).toMatchObject({ label: binary, positives });
});

test.each([
  ["1, 2, 3, 4, 5", rating(4), 2],
  ["0.5, 3.5, 4.0, 5.0", rating(4), 2],
  ["'1', '3', '5'", rating(4), 1],
  ["1, 6, 7, 10", rating(7), 2],
  ["-1, 0, 1", rating(1), 1],
  ["5, 5", rating(5), 2],
  ["0.2, 0.5, 0.7", rating(0.7), 1],
])("%s is read as a rating", async (values, label, positives) => {
  expect(await meaningOf(values)).toMatchObject({ label, positives });
});

test("on a wide range, such as play counts, the median is the threshold", async () => {
  const { label, sentence } = await meaningOf("1, 2, 3, 400, 90000");
  expect(label).toEqual(rating(3));
  expect(sentence).toBe("a number from 1 to 90000, positive from 3");
});
