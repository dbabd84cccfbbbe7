import { WORD_MARK } from "./dialect.ts";

type Found = {
  readonly count: number;
  /** The positions (from 1) of the first few rows in the query's result. */
  readonly firstRows: readonly number[];
  /** Rows by the word that stands in place of an id. */
  readonly words?: Readonly<Record<string, number>>;
  /** Values of such rows. */
  readonly examples?: readonly string[];
};

/** Why rows were refused, by reason. */
export type Rejected = Readonly<Record<string, Found>>;

/** Sums rows by reason. The reasons are those of checkedRowsSql, in which words in place of ids are marked. */
export function rejectedOf(rows: readonly (Omit<Found, "words"> & { readonly reason: string })[]): Rejected {
  const rejected: Record<string, Found> = {};
  for (const { reason: given, count, firstRows, examples } of rows) {
    const [reason, word] = given.split(WORD_MARK) as [string, string?];
    const { [reason]: before = { count: 0, firstRows: [] } } = rejected;
    rejected[reason] = {
      count: before.count + count,
      firstRows: [...before.firstRows, ...firstRows].sort((a, b) => a - b).slice(0, FIRST_ROWS),
      ...(examples && { examples }),
      ...((word ?? before.words) && { words: { ...before.words, ...(word && { [word]: count }) } }),
    };
  }
  return rejected;
}

/** Rows whose positions are told for each reason. */
export const FIRST_ROWS = 5;

/** What each reason means, for people. row-rules.ts and the dialects decide which rows it applies to. */
export const REJECT_REASONS = {
  malformed_line: "the line does not fit the file's columns, or is not UTF-8",
  missing_user: "the user id is null or empty",
  missing_item: "the item id is null or empty",
  id_too_long: "an id is longer than 256 bytes",
  id_has_nul: "an id contains a NUL character",
  id_not_finite: "an id is an infinite number or not a number",
  id_not_exact: "an id is a floating-point number too large to be exact: store it as text or as a whole number",
  missing_time: "the time is null, empty or infinite",
  unparsable_time: "the time is neither ISO 8601 nor an epoch number nor in the format of the others",
  time_out_of_range: "the time is before 1970 or after 2106",
  future_time: "the time lies more than a day in the future",
  missing_label: "the label is null or empty",
  unparsable_label: "the label is not one that the schema's label type knows",
} as const satisfies Readonly<Record<string, string>>;

export type RejectReason = keyof typeof REJECT_REASONS;

export const isRejectReason = (reason: string): reason is RejectReason => Object.hasOwn(REJECT_REASONS, reason);

export const meaningOf = (reason: string): string =>
  isRejectReason(reason) ? REJECT_REASONS[reason] : "see the documentation";

export const countRejected = (rejected: Rejected): number =>
  Object.values(rejected).reduce((sum, { count }) => sum + count, 0);

export const countByReason = (rejected: Rejected): Record<string, number> =>
  Object.fromEntries(Object.entries(rejected).map(([reason, { count }]) => [reason, count]));

/** A sentence for each reason, the most frequent first, with the first rows that it applies to. */
export function describeRejected(rejected: Rejected): string[] {
  return Object.entries(rejected)
    .sort(([, a], [, b]) => b.count - a.count)
    .map(([reason, { count, firstRows, words, examples = [] }]) => {
      const where =
        firstRows.length === 0 ? "" : ` (row ${firstRows.join(", ")}${count > firstRows.length ? ", …" : ""})`;
      const values = examples.length === 0 ? "" : `: ${examples.map((value) => JSON.stringify(value)).join(", ")}`;
      return `${count} × ${reason}: ${meaningOf(reason)}${words ? describeWords(words) : ""}${where}${values}`;
    });
}

const describeWords = (words: Readonly<Record<string, number>>): string => {
  const byCount = Object.entries(words).sort(([, a], [, b]) => b - a);
  const listed = byCount.map(([word, count]) => `${JSON.stringify(word)} ${count}`).join(", ");
  return `, or a word for nothing: ${listed} ("keep_null_words": true in schema.interaction takes them for ids)`;
};
