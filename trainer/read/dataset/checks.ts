import type { Label } from "../../../shared/label.ts";
import { checkingError } from "../../stage/stage-error.ts";
import { countRejected, describeRejected, type Rejected } from "../rules/reject-reasons.ts";
import type { Interactions } from "./dataset.ts";

/** What is known about the rows of a query before there is a dataset. */
export type RowReport = {
  /** Rows of the query, including those that the source could not read. */
  readonly rows: number;
  readonly rejected: Rejected;
  /** The run ends when a larger fraction of the rows is rejected: 0…1. */
  readonly rejectedFractionMax: number;
  readonly label: { readonly type: Label["type"]; readonly name: string };
};

/** Throws StageError with the code of the first check that fails. */
export function checkRows(report: RowReport): void {
  checkAnyRows(report);
  checkNotAllFuture(report);
  checkRejectedFraction(report);
}

/** Throws StageError with the code of the first check that fails. */
export function checkInteractionsUsable(interactions: Interactions, label: RowReport["label"]): void {
  checkTwoItems(interactions);
  checkAnyPositive(interactions, label);
}

function checkAnyRows({ rows }: RowReport): void {
  if (rows === 0)
    fail("no_rows", "The interaction query gives no rows: check its conditions, and that the table is not empty");
}

function checkNotAllFuture({ rows, rejected }: RowReport): void {
  if (rejected.future_time?.count === rows)
    fail(
      "all_times_in_future",
      "Every interaction lies in the future: check the time column's unit and time zone; times without a zone are read as UTC",
    );
}

/** Whether so large a fraction of the rows is rejected that training stops. Without any usable row it always stops. */
export const areTooManyRejected = (fraction: number, fractionMax: number): boolean =>
  fraction >= 1 || fraction > fractionMax;

function checkRejectedFraction({ rows, rejected, rejectedFractionMax, label }: RowReport): void {
  const count = countRejected(rejected);
  if (!areTooManyRejected(count / rows, rejectedFractionMax)) return;
  const isStars = label.type === "Binary" && rejected.unparsable_label !== undefined;
  const hint = isStars
    ? ". A Binary label is true or false, 1 or 0; for stars use the label type Rating, for amounts Weight, for types of events Events"
    : "";
  const reasons = describeRejected(rejected).join("; ");
  const allowed = percent(rejectedFractionMax);
  fail(
    "too_many_rejected_rows",
    `${count} of ${rows} rows cannot be used, more than the ${allowed} allowed: ${reasons}${hint}`,
  );
}

function checkTwoItems({ itemCount, items }: Interactions): void {
  if (new Set(items.subarray(0, 100_000)).size < 2 && !hasTwo(items))
    fail(
      "too_few_items",
      `The interactions are all with one item${itemCount > 1 ? " of the catalog" : ""}; ranking needs at least 2`,
    );
}

function checkAnyPositive({ positive }: Interactions, label: RowReport["label"]): void {
  if (positive.includes(1)) return;
  if (label.type === "Binary")
    fail(
      "all_labels_negative",
      `Every label in ${JSON.stringify(label.name)} is 0 or false; at least one must be 1 or true`,
    );
  if (label.type === "Events")
    fail(
      "no_positives",
      `No row has in ${JSON.stringify(label.name)} a type of event that is positive; compare the spelling`,
    );
  if (label.type === "Weight")
    fail("no_positives", `Every weight in ${JSON.stringify(label.name)} is 0; at least one must be above 0`);
  fail(
    "no_positives",
    `No rating in ${JSON.stringify(label.name)} reaches positive_from; lower it, or check the column`,
  );
}

const hasTwo = (items: Int32Array) => items.some((item) => item !== items[0]);

const FEW_INTERACTIONS = 1000;
const YEAR_1990 = 631_152_000;

/** With fresh data, local times without a zone lie in the future east of Greenwich. Clocks may differ a little. */
const AHEAD_SECONDS = 1800;

/** Hours that the newest interaction lies in the future; undefined if it does not. */
export function hoursAhead({ times }: Pick<Interactions, "times">, nowSeconds: number): number | undefined {
  const newest = times.reduce((max, time) => Math.max(max, time), 0);
  return newest > nowSeconds + AHEAD_SECONDS ? (newest - nowSeconds) / 3600 : undefined;
}

export type RowCounts = {
  readonly duplicates: number;
  /** Undefined for a model that knows no sessions. */
  readonly sessions: number | undefined;
  /** When the rows were read. */
  readonly nowSeconds: number;
};

/** Warnings for the owner of the data. The run goes on. */
export function warningsOf(interactions: Interactions, report: RowReport, counts: RowCounts): string[] {
  const rejected = rejectedWarnings(report.rows, report.rejected);
  return [...rejected, ...interactionWarnings(interactions, report.label, counts).map(({ message }) => message)];
}

export const ROWS_LEFT_OUT = "Rows left out";

/** A warning for each reason. The first one says how many of all rows were left out, for all reasons together. */
export function rejectedWarnings(rows: number, rejected: Rejected): string[] {
  const count = countRejected(rejected);
  const share = `${count} of ${rows} rows, ${percent(count / rows)}`;
  return describeRejected(rejected).map((text, i) => `${ROWS_LEFT_OUT}${i === 0 ? ` (${share})` : ""}: ${text}`);
}

/** Warnings about the accepted interactions. */
export function interactionWarnings(
  interactions: Interactions,
  label: RowReport["label"],
  { duplicates, sessions, nowSeconds }: RowCounts,
): readonly { readonly code: string; readonly message: string }[] {
  const { times, items, positive, userCount } = interactions;
  const ahead = hoursAhead(interactions, nowSeconds);
  const local = `The newest interaction lies ${ahead?.toFixed(1)} hours in the future: times without a zone are read as UTC, so local ones need it`;
  const few = `There are only ${items.length} interactions; below ${FEW_INTERACTIONS}, lists will be close to plain popularity`;
  const oneUser =
    "The interactions are all of one user, so lists will be plain popularity: is the user column the right one?";
  const oneTime = "Every interaction has the same time, so nothing can be learnt from order or recency";
  const repeated = `${duplicates} rows repeat the user, item and time of another`;
  const warnings: readonly (readonly [applies: boolean, code: string, message: string])[] = [
    [items.length < FEW_INTERACTIONS, "few_interactions", few],
    [userCount === 1, "one_user", oneUser],
    [items.length > 1 && times.every((time) => time === times[0]), "one_time", oneTime],
    [times.some((time) => time < YEAR_1990), "old_times", "Some times lie before 1990: check the time column's unit"],
    [ahead !== undefined, "times_ahead", local],
    [!positive.includes(0) && label.type === "Rating", "all_positive", "Every rating counts as positive"],
    [
      sessions === items.length,
      "single_sessions",
      "No session has two interactions, so nothing can be learnt from sessions: is the session column the right one?",
    ],
    [duplicates > items.length, "duplicates", repeated],
  ];
  return warnings.filter(([applies]) => applies).map(([, code, message]) => ({ code, message }));
}

const percent = (fraction: number) => `${Math.round(fraction * 1000) / 10} %`;

function fail(code: string, message: string): never {
  throw checkingError(code, message);
}
