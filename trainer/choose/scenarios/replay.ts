/**
 * The replay of an evaluation: the chosen model as it learnt from the training part, with held-out cases, so that their lists can be made
 * again with a scenario. The published model cannot serve for this: it has learnt from the cases.
 */
import * as z from "zod";
import { FormatError } from "../../../shared/assert.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { type ItemColumns, knownNames } from "../../../shared/known-names.ts";
import { SessionRules } from "../../../shared/manifest.ts";
import { decodeRecentChoices, encodeRecentChoices } from "../../../shared/recent-choices.ts";
import { decodeUserValues } from "../../../shared/user-values.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import { itemFiles } from "../../read/dataset/item-files.ts";
import type { EvaluationCase, EvaluationCases } from "../evaluate/evaluation-cases.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import { decodePacked, encodePacked, uint8s, uint32s } from "../report/packed-value.ts";
import { positivesOf } from "../report/report.ts";
import type { Validation } from "../splits/validation.ts";
import { type Measurable, SCENARIO_LISTS_MAX } from "./measure-scenario.ts";

const KIND = "evaluation-replay";
const FORMAT = 1;
/** Limit on the entries of histories and seen items together: about 50 MB. Fewer cases are stored if they have more. */
const ENTRIES_MAX = 8_000_000;

/** Lists of numbers: list i is values[start[i]] … values[start[i + 1] − 1]. */
const Rows = z
  .strictObject({ start: uint32s, values: uint32s })
  .refine(
    ({ start, values }) =>
      start[0] === 0 && start.at(-1) === values.length && start.every((at, i) => i === 0 || at >= start[i - 1]!),
    "its lists do not follow each other",
  );
type Rows = z.infer<typeof Rows>;

const ReplayFile = z
  .strictObject({
    format: z.literal(FORMAT),
    historyMax: z.int().positive(),
    itemIdColumn: z.string(),
    itemCreatedAt: z.string().optional(),
    /** Items from this index on are in no list. Absent: all may be. */
    listedCount: z.int().nonnegative().optional(),
    graph: uint8s,
    weights: z.array(z.strictObject({ path: z.string(), bytes: uint8s })),
    catalog: uint8s,
    attributes: uint8s.nullable(),
    userValues: uint8s.nullable(),
    /** Counts of the training part (shared/recent-choices.ts). */
    recentChoices: uint8s.optional(),
    /** Present for a model that learns from sessions. */
    sessions: SessionRules.optional(),
    popularity: uint32s, // [itemCount]
    owners: uint32s, // [caseCount]
    nowSeconds: uint32s, // [caseCount]
    /** By case: the newest positive items with their times, all seen items, the targets, and the codes of the user's values. */
    items: Rows,
    times: uint32s, // aligned with the values of `items`
    seen: Rows,
    relevant: Rows,
    codes: Rows,
  })
  .refine(
    ({ owners, nowSeconds, items, times, seen, relevant, codes, popularity }) =>
      nowSeconds.length === owners.length &&
      times.length === items.values.length &&
      [items, seen, relevant, codes].every(({ start }) => start.length === owners.length + 1) &&
      [items, seen, relevant].every(({ values }) => values.every((item) => item < popularity.length)),
    "its arrays do not fit each other",
  );

export type ReplayInput = ItemColumns & {
  readonly validation: Validation;
  /** The cases that the report measured. */
  readonly positions: Uint32Array;
  readonly served: Served;
  /** The file behind `served.values`. */
  readonly userValues: Uint8Array | undefined;
  readonly seed: number;
};

export function encodeReplay({ validation, positions, served, userValues, seed, ...columns }: ReplayInput): Uint8Array {
  const { dataset, split } = validation;
  const { cases } = split;
  const { exported, historyMax, values, recentChoices } = served;
  const kept = keptCases(cases, positions, { historyMax, seed });
  const codesOf = (at: number) => {
    const user = cases.userAt(at);
    return user === undefined || !values ? [] : values.codesOf(user);
  };
  return encodePacked(KIND, {
    format: FORMAT,
    historyMax,
    graph: exported.graph,
    weights: exported.weights.map(({ path, bytes }) => ({ path, bytes })),
    ...itemFiles(dataset, columns),
    userValues: userValues ?? null,
    ...(recentChoices && { recentChoices: encodeRecentChoices(recentChoices) }),
    ...(cases.sessions && { sessions: cases.sessions }),
    ...(cases.listedCount !== undefined && { listedCount: cases.listedCount }),
    popularity: positivesOf(split.train),
    owners: Uint32Array.from(kept, ({ at }) => cases.ownerAt(at)),
    nowSeconds: Uint32Array.from(kept, ({ nowSeconds }) => nowSeconds),
    items: rowsOf(kept.map(({ items }) => items)),
    times: Uint32Array.from(kept.flatMap(({ times }) => times)),
    seen: rowsOf(kept.map(({ seen }) => [...seen])),
    relevant: rowsOf(kept.map(({ relevant }) => relevant)),
    codes: rowsOf(kept.map(({ at }) => codesOf(at))),
  });
}

/**
 * A random sample of the cases in random order, so that the first of them are a sample too. Stored histories are cut to their newest
 * entries.
 */
function keptCases(
  cases: EvaluationCases,
  positions: Uint32Array,
  { historyMax, seed }: { readonly historyMax: number; readonly seed: number },
): (EvaluationCase & { readonly at: number })[] {
  const random = seededRandom(seed, 71);
  const order = Array.from(positions, (at) => ({ at, key: random() })).sort((a, b) => a.key - b.key);
  const kept: (EvaluationCase & { readonly at: number })[] = [];
  let entries = 0;
  for (const { at } of order.slice(0, SCENARIO_LISTS_MAX)) {
    const one = cases.caseAt(at);
    const first = cases.sessions ? 0 : -historyMax; // what is sent of a session is not shown, however old it is
    const items = one.items.slice(first);
    entries += 2 * items.length + one.seen.size;
    if (entries > ENTRIES_MAX) break;
    kept.push({ ...one, at, items, times: one.times.slice(first) });
  }
  return kept;
}

function rowsOf(lists: readonly (readonly number[])[]): Rows {
  const start = new Uint32Array(lists.length + 1);
  for (const [i, list] of lists.entries()) start[i + 1] = start[i]! + list.length;
  const values = new Uint32Array(start.at(-1)!);
  for (const [i, list] of lists.entries()) values.set(list, start[i]);
  return { start, values };
}

/** Throws FormatError for anything that encodeReplay did not write. */
export function decodeReplay(bytes: Uint8Array): Measurable {
  const file = decodePacked(KIND, ReplayFile, bytes, "The replay of the evaluation");
  const {
    historyMax,
    listedCount,
    graph,
    weights,
    userValues,
    sessions,
    popularity,
    owners,
    nowSeconds,
    items,
    times,
    seen,
    relevant,
    codes,
  } = file;
  const names = knownNames(file);
  if (names.attributes && names.attributes.itemCount !== popularity.length)
    throw new FormatError("The replay of the evaluation cannot be read: its attributes are of other items.");
  const caseAt = (at: number): EvaluationCase => ({
    items: rowOf<ItemIndex>(items, at),
    times: Array.from(times.subarray(items.start[at]!, items.start[at + 1]!)),
    seen: new Set(rowOf<ItemIndex>(seen, at)),
    relevant: rowOf<ItemIndex>(relevant, at),
    nowSeconds: nowSeconds[at]!,
  });
  const decoded = userValues && decodeUserValues(userValues);
  const values = decoded && { ...decoded, score: decoded.scoreIfAny, codesOf: (at: number) => rowOf(codes, at) };
  return {
    cases: {
      ...(sessions && { sessions }),
      count: owners.length,
      itemCount: popularity.length,
      listedCount,
      caseAt,
      sizesAt: (at) => ({ known: rowOf(items, at).length, wanted: rowOf(relevant, at).length }),
      userAt: (at) => at,
      ownerAt: (at) => owners[at]!,
    },
    served: {
      exported: { graph, weights, truncation: "" },
      historyMax,
      ...(values && { values }),
      ...(file.recentChoices && { recentChoices: decodeRecentChoices(file.recentChoices) }),
    },
    names,
    popularity,
  };
}

const rowOf = <Value extends number>({ start, values }: Rows, at: number): Value[] =>
  Array.from(values.subarray(start[at]!, start[at + 1]!)) as Value[];
