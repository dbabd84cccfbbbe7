/**
 * The lists behind an evaluation report, user by user. They answer questions about given users, items or attributes. Users are stored as
 * salted hashes only.
 */
import { hash as digestOf } from "node:crypto";
import * as z from "zod";
import { type AttributeColumn, isKeyed, NAME_LENGTH_MAX } from "../../../shared/attributes.ts";
import { countOf, stringAt } from "../../../shared/packed-strings.ts";
import { pickColumn } from "../../read/dataset/reorder-items.ts";
import type { Evaluation } from "../evaluate/evaluate.ts";
import type { Validation } from "../splits/validation.ts";
import { decodePacked, encodePacked, float64s, int32s, uint8s, uint32s } from "./packed-value.ts";

const FORMAT = 2;
const KIND = "evaluation-detail";

const Packed = z.strictObject({ bytes: uint8s, start: uint32s });
const name = z.string().max(NAME_LENGTH_MAX);
const Column = z.union([
  z.strictObject({ name, type: z.enum(["Numerical", "Timestamp"]), values: float64s }),
  z.strictObject({ name, type: z.literal("Boolean"), values: uint8s }),
  z.strictObject({
    name,
    type: z.enum(["Category", "CategoryList", "Text"]),
    dictionary: z.array(z.string()),
    start: uint32s,
    codes: uint32s,
  }),
]);

const DetailFile = z
  .strictObject({
    format: z.literal(FORMAT),
    cutOffs: z.array(z.int().positive()).min(1).max(20),
    listLength: z.int().positive(),
    salt: uint8s,
    /** Hashes of the users of the lists; 0 for a session, which has no user id. */
    users: uint32s
      .refine((halves) => halves.length % 2 === 0, "must be pairs")
      .transform((halves) => new BigUint64Array(halves.slice().buffer)), // [userCount]
    itemIds: Packed, // [itemCount]
    /** Attributes of all types but Text. */
    userColumns: z.array(Column), // of [userCount] rows
    itemColumns: z.array(Column), // of [itemCount] rows
    /** Item indices, best first; −1 where a list ended. */
    chosen: int32s, // [userCount * listLength]
    popularity: int32s, // [userCount * listLength]
    /** User u's targets are relevant[relevantStart[u]] … relevant[relevantStart[u + 1] − 1]. */
    relevantStart: uint32s, // [userCount + 1]
    relevant: int32s,
  })
  .refine(
    ({ users, itemIds, listLength, chosen, popularity, relevantStart, relevant, userColumns, itemColumns }) =>
      chosen.length === users.length * listLength &&
      popularity.length === chosen.length &&
      relevantStart.length === users.length + 1 &&
      relevantStart.at(-1) === relevant.length &&
      userColumns.every((column) => rowsOf(column) === users.length) &&
      itemColumns.every((column) => rowsOf(column) === countOf(itemIds)),
    "its arrays do not fit each other",
  );
export type EvaluationDetail = z.infer<typeof DetailFile>;

/**
 * The lists of the chosen model and of popularity, for the users that the report measured.
 *
 * @param saltText The source of the salt; it must differ for other data.
 */
export function evaluationDetail(
  { dataset, split }: Validation,
  lists: { readonly chosen: Evaluation; readonly popularity: Evaluation },
  saltText: string,
): EvaluationDetail {
  const { chosen, popularity } = lists;
  const relevant: number[] = [];
  const relevantStart = new Uint32Array(chosen.positions.length + 1);
  const salt = digestOf("sha256", `evaluation-salt ${saltText}`, "buffer").subarray(0, 16);
  const users = new BigUint64Array(chosen.positions.length);
  const userIndices = Int32Array.from(chosen.positions, (at) => split.cases.userAt(at) ?? -1);
  for (const [i, at] of chosen.positions.entries()) {
    const user = userIndices[i]!;
    if (user >= 0) users[i] = hashOfUser(salt, stringAt(dataset.userIds, user));
    for (const item of split.cases.caseAt(at).relevant) relevant.push(item);
    relevantStart[i + 1] = relevant.length;
  }
  const isNamed = !userIndices.includes(-1);
  return {
    format: FORMAT,
    cutOffs: [...chosen.cutOffs],
    listLength: chosen.listLength,
    salt: Uint8Array.from(salt),
    users,
    itemIds: dataset.itemIds,
    userColumns: isNamed ? stored(dataset.userAttributes.map((column) => pickColumn(column, userIndices))) : [],
    itemColumns: stored(dataset.itemAttributes),
    chosen: chosen.lists,
    popularity: popularity.lists,
    relevantStart,
    relevant: Int32Array.from(relevant),
  };
}

/** The hash of a user in the file: like `userHash` of shared/hash.ts, and never 0. */
export function hashOfUser(salt: Uint8Array, userId: string): bigint {
  const digest = digestOf("sha256", Buffer.concat([salt, Buffer.from(userId)]), "buffer");
  return digest.readBigUInt64BE(0) || 1n;
}

/** The bytes of the file. 64-bit integers are stored as pairs of 32-bit ones. */
export const encodeDetail = (detail: EvaluationDetail): Uint8Array =>
  encodePacked(KIND, { ...detail, users: new Uint32Array(detail.users.slice().buffer) });

/** Throws FormatError for anything that encodeDetail did not write. */
export const decodeDetail = (bytes: Uint8Array): EvaluationDetail =>
  decodePacked(KIND, DetailFile, bytes, "The evaluation's lists");

const rowsOf = (column: z.infer<typeof Column>) => ("start" in column ? column.start.length - 1 : column.values.length);

/** The columns that are stored. Free texts and places are left out, because their values make no segments. */
const stored = (columns: readonly AttributeColumn[]) =>
  columns
    .filter(isKeyed)
    .filter(({ type }) => type !== "Text")
    .map((column) => ("start" in column ? { ...column, dictionary: [...column.dictionary] } : { ...column }));
