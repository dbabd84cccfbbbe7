import { DuckDBListValue } from "@duckdb/node-api";
import type * as z from "zod";
import { NAME_LENGTH_MAX } from "../../../shared/attributes.ts";
import { clipped } from "../../../shared/clipped.ts";
import { INTEGER, type ItemIdType } from "../../../shared/ids.ts";
import type { AttributeDescription } from "../../../shared/model-record.ts";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import { checkingError } from "../../stage/stage-error.ts";
import { identifier } from "../connectors/sql-text.ts";
import type { IdReading } from "../rules/dialect.ts";
import { type IdExpression, idExpression } from "../rules/id-expression.ts";
import type { LeftOut } from "./attribute-column.ts";
import type { AttributeColumn } from "./dataset.ts";
import { type TypedAttribute, typeAttribute } from "./infer-attributes.ts";
import { placeIn } from "./place-text.ts";
import { missingColumns } from "./stage-query.ts";
import { readRow, runStaged, type StagedTable, type Staging, streamStaged } from "./staging.ts";

type Entity = ModelSchema["item"];

export type StagedAttributes = {
  /** The table `(text, …)` with one row for each id: the last of its rows. */
  readonly table: string;
  readonly rows: number;
  readonly attributes: readonly TypedAttribute[];
  readonly warnings: readonly string[];
};

export type ReadAttributes = {
  readonly columns: readonly AttributeColumn[];
  readonly descriptions: readonly z.infer<typeof AttributeDescription>[];
  readonly warnings: readonly string[];
};

export const QUERY_ATTRIBUTES_MAX = 200;
/** Limits of one column's dictionary. */
const DICTIONARY_VALUES_MAX = 2_000_000;
const DICTIONARY_CHARACTERS_MAX = 200_000_000;
/** Largest number of numbers in the vectors of one column: 256 MB. */
const VECTOR_NUMBERS_MAX = 2 ** 26;

/**
 * The columns of an attribute query to read: the id, then the declared features, or else all other columns.
 *
 * Throws StageError `missing_column`, `too_many_attributes`.
 */
export function attributeColumns(entity: Entity, available: readonly string[], what: "item" | "user"): string[] {
  const wanted = entity.features?.map((feature) => feature.name) ?? available.filter((name) => name !== entity.id);
  const missing = [entity.id, ...wanted].filter((name) => !available.includes(name));
  if (missing.length > 0) throw missingColumns(what, missing, available);
  if (wanted.length > QUERY_ATTRIBUTES_MAX)
    throw checkingError(
      "too_many_attributes",
      `The ${what} query has ${wanted.length} attributes; at most ${QUERY_ATTRIBUTES_MAX} can be kept: declare them as features`,
    );
  return [entity.id, ...wanted.filter((name) => name !== entity.id)];
}

export type CheckAttributesOptions = {
  readonly entity: Entity;
  readonly what: "item" | "user";
  /** The type of the interactions' ids. Default: any text can be an id. */
  readonly idType?: ItemIdType | undefined;
  /** How the interactions' ids are read. Default: nothing is trimmed, and words for nothing are no ids. */
  readonly reading?: IdReading;
};

/** Reduces the rows to one per id, and finds the type of each column. Rows whose id no interaction can have are left out. */
export async function checkAttributes(
  staging: Staging,
  staged: StagedTable,
  { entity, what, idType, reading = { which: what, keepsNullWords: false, trims: false } }: CheckAttributesOptions,
): Promise<StagedAttributes> {
  const [idColumn, ...others] = staged.columns;
  const id = idExpression("c0", idColumn!.type, reading);
  if (id === undefined)
    throw checkingError(
      "unsupported_column_type",
      `The column ${JSON.stringify(idColumn!.name)} of the ${what} query has the type ${idColumn!.type}, which cannot be an id`,
    );
  const { table, rows, warnings } = await keepById(staging, staged, { id, what, idType });
  const attributes: TypedAttribute[] = [];
  for (const column of others) {
    if (column.name.length > NAME_LENGTH_MAX) {
      warnings.push(
        `The ${what} attribute ${JSON.stringify(`${clipped(column.name, 40)}…`)} was left out: ` +
          `its name has more than ${NAME_LENGTH_MAX} characters; give it another with AS`,
      );
      continue;
    }
    const declared = entity.features?.find((feature) => feature.name === column.name)?.type;
    const typed = usableBy(what, await typeAttribute({ staging, table }, column, declared));
    const about = `The ${what} attribute ${JSON.stringify(column.name)}`;
    if ("leftOut" in typed) {
      warnings.push(`${about} was left out: ${typed.leftOut}`);
      continue;
    }
    attributes.push(typed);
    if (typed.note) warnings.push(`${about} ${what === "user" ? typed.note.replaceAll(EXAMPLES, "") : typed.note}`);
    const twin = others.find(({ name }) => isSecondOf(column.name, name));
    if (twin) warnings.push(`${about} is a column whose name differs from ${JSON.stringify(twin.name)} only in case`);
    if (column.name.startsWith("$"))
      warnings.push(`${about} cannot be used in filters, where $ begins an operator: give it another name with AS`);
  }
  return { table, rows, attributes, warnings };
}

const usableBy = (what: "item" | "user", typed: TypedAttribute | LeftOut): TypedAttribute | LeftOut =>
  what === "user" && "type" in typed && typed.type === "Vector"
    ? { leftOut: "its lists of numbers are vectors, which are used of items only" }
    : typed;

/** Examples of values in a warning. Those of users stand in none, since the record outlives users. */
const EXAMPLES = /, such as "(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*,?/g;

/** DuckDB gives the second of two columns a number, since its names ignore case: `price_1` beside `Price`. */
const isSecondOf = (name: string, other: string) =>
  /_\d+$/.test(name) && name.replace(/_\d+$/, "").toLowerCase() === other.toLowerCase();

type KeepOptions = Omit<CheckAttributesOptions, "entity" | "reading"> & { readonly id: IdExpression };

/** Makes the table `(text, …)` of the last row of each id. */
async function keepById(staging: Staging, staged: StagedTable, { id, what, idType }: KeepOptions) {
  const table = `${staged.name}_by_id`;
  const text = id.text(id.key);
  const isOther =
    idType === "integer" ? `((${id.reason}) IS NULL AND NOT regexp_full_match(${text}, '${INTEGER.source}'))` : "false";
  await runStaged(
    staging,
    `CREATE TABLE ${table} AS SELECT ${text} AS text, * EXCLUDE (c0) FROM ${staged.name} WHERE rowid IN
     (SELECT max(rowid) FROM ${staged.name} WHERE (${id.reason}) IS NULL AND NOT ${isOther} GROUP BY ${text})`,
  );
  const counts = await readRow(
    staging,
    `SELECT (SELECT count(*) FROM ${table}) AS kept, count(*) FILTER ((${id.reason}) IS NOT NULL) AS bad,
     count(*) FILTER (${isOther}) AS other, min(${text}) FILTER (${isOther}) AS example FROM ${staged.name}`,
  );
  const [kept, bad, other] = [Number(counts.kept), Number(counts.bad), Number(counts.other)];
  const repeated = staged.rows - bad - other - kept;
  const warnings: string[] = [];
  if (bad > 0) warnings.push(`${bad} rows of the ${what} query have no usable id and were left out`);
  if (other > 0)
    warnings.push(
      `${other} rows of the ${what} query have an id such as ${JSON.stringify(counts.example)} and were left out: ` +
        "the interactions' ids are whole numbers, written without leading zeros",
    );
  if (repeated > 0) warnings.push(`${repeated} rows of the ${what} query repeat an id; the last row of each was taken`);
  return { table, rows: kept, warnings };
}

/**
 * A warning when none of the ids is among those of the interactions; otherwise undefined. It names no user, since the
 * record outlives users.
 *
 * @param known SQL of the interactions' ids, column `text`.
 */
export async function unknownIdsWarning(
  staging: Staging,
  { table }: StagedAttributes,
  { known, what }: { readonly known: string; readonly what: "item" | "user" },
): Promise<string | undefined> {
  const row = await readRow(
    staging,
    `SELECT count(*) AS rows, min(text) AS example, (SELECT min(text) FROM ${known}) AS expected,
     EXISTS (SELECT 1 FROM ${table} JOIN ${known} USING (text)) AS meets FROM ${table}`,
  );
  if (Number(row.rows) === 0 || row.meets === true || row.expected === null) return undefined;
  const [example, expected] = [row.example, row.expected].map((id) =>
    what === "item" ? `, such as ${JSON.stringify(id)}` : "",
  );
  return `No id of the ${what} query${example} is among those of the interactions${expected}: is the id column the right one?`;
}

/**
 * The attributes of every item or user, by index.
 *
 * @param index The table whose `text` is the id and whose rowid is the index.
 */
export async function readAttributes(
  staging: Staging,
  staged: StagedAttributes,
  { index, count }: { readonly index: string; readonly count: number },
): Promise<ReadAttributes> {
  const columns: AttributeColumn[] = [];
  const descriptions: z.infer<typeof AttributeDescription>[] = [];
  const warnings: string[] = [];
  for (const attribute of staged.attributes) {
    const relation = `(SELECT CAST(${index}.rowid AS INTEGER) AS i, ${attribute.value} AS v
      FROM ${staged.table} JOIN ${index} USING (text))`;
    const read = await readColumn({ staging, relation, count }, attribute);
    if (typeof read === "string") {
      warnings.push(`The attribute ${JSON.stringify(attribute.name)} was left out: ${read}`);
      continue;
    }
    columns.push(read.column);
    if (read.note) warnings.push(`The attribute ${JSON.stringify(attribute.name)} ${read.note}`);
    const { name, type, inferred } = attribute;
    descriptions.push({ name, type, inferred, present: read.present, distinct: read.distinct });
  }
  return { columns, descriptions, warnings };
}

type Place = {
  readonly staging: Staging;
  readonly relation: string; // (i INTEGER, v)
  readonly count: number;
};
type ReadColumn = {
  readonly column: AttributeColumn;
  readonly present: number;
  readonly distinct: number | null;
  readonly note?: string;
};

async function readColumn(place: Place, { name, type }: TypedAttribute): Promise<ReadColumn | string> {
  if (type === "Location") return await readPlaces(place, name);
  if (type === "Vector") return await readVectors(place, name);
  if (type !== "Numerical" && type !== "Timestamp" && type !== "Boolean") return await readTexts(place, { name, type });
  const column: AttributeColumn =
    type === "Boolean"
      ? { name, type, values: new Uint8Array(place.count).fill(255) }
      : { name, type, values: new Float64Array(place.count).fill(Number.NaN) };
  const present = await fill(place, (i, value) => {
    column.values[i] = value as number;
  });
  return { present, column, distinct: null };
}

async function readPlaces(place: Place, name: string): Promise<ReadColumn> {
  const [lat, lon] = [new Float64Array(place.count).fill(Number.NaN), new Float64Array(place.count)];
  let present = 0;
  const texts = await fill(place, (i, text) => {
    const found = placeIn(text as string);
    if (found === undefined) return;
    lat[i] = found.lat;
    lon[i] = found.lon;
    present++;
  });
  const note = `has ${texts - present} values that are no places and count as missing`; // without examples, since some are of users
  return { column: { name, type: "Location", lat, lon }, present, distinct: null, ...(texts > present && { note }) };
}

async function readVectors(place: Place, name: string): Promise<ReadColumn | string> {
  const size = await readRow(place.staging, `SELECT max(len(v)) AS width FROM ${place.relation}`);
  const width = Number(size.width ?? 0);
  if (width === 0) return "no item has a vector";
  if (width * place.count > VECTOR_NUMBERS_MAX)
    return `its vectors of ${width} numbers for ${place.count} items have more than ${VECTOR_NUMBERS_MAX} numbers; give it shorter ones`;
  const values = new Float32Array(place.count * width).fill(Number.NaN);
  const present = await fill(place, (i, value) => values.set((value as DuckDBListValue).items as number[], i * width));
  return { column: { name, type: "Vector", width, values }, present, distinct: null };
}

/** Calls `set` with the index and value of each row that has a value. Returns their number. */
async function fill({ staging, relation }: Place, set: (index: number, value: unknown) => void): Promise<number> {
  let present = 0;
  for await (const chunk of streamStaged(staging, `SELECT i, v FROM ${relation} WHERE v IS NOT NULL`)) {
    const [indices, values] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    for (let row = 0; row < chunk.rowCount; row++) set(indices.getItem(row) as number, values.getItem(row));
    present += chunk.rowCount;
  }
  return present;
}

async function readTexts(
  place: Place,
  { name, type }: { name: string; type: "Category" | "CategoryList" | "Text" },
): Promise<ReadColumn | string> {
  const single =
    type === "CategoryList" ? `SELECT unnest(v) AS v FROM ${place.relation}` : `SELECT v FROM ${place.relation}`;
  const size = await readRow(
    place.staging,
    `SELECT count(*) AS count, coalesce(sum(length(v)), 0) AS characters FROM (SELECT DISTINCT v FROM (${single}) WHERE v IS NOT NULL)`,
  );
  if (Number(size.count) > DICTIONARY_VALUES_MAX) return `it has more than ${DICTIONARY_VALUES_MAX} different values`;
  if (Number(size.characters) > DICTIONARY_CHARACTERS_MAX) return "its texts are too long altogether";

  // Sorted by code point, so that codes compare like texts.
  const dictionary: string[] = [];
  const sorted = `SELECT DISTINCT v FROM (${single}) WHERE v IS NOT NULL ORDER BY v`;
  for await (const chunk of streamStaged(place.staging, sorted))
    for (const value of chunk.getColumnValues(0)) dictionary.push(value as string);
  const codeOf = new Map(dictionary.map((value, code) => [value, code]));
  const byIndex: (readonly number[] | undefined)[] = new Array(place.count);
  let total = 0;
  let present = 0;
  await fill(place, (i, value) => {
    const texts = value instanceof DuckDBListValue ? (value.items as readonly string[]) : [value as string];
    byIndex[i] = texts.map((text) => codeOf.get(text)!);
    total += texts.length;
    if (texts.length > 0) present++;
  });
  const start = new Uint32Array(place.count + 1);
  const codes = new Uint32Array(total);
  for (let i = 0, end = 0; i < place.count; i++) {
    const of = byIndex[i] ?? [];
    codes.set(of, end);
    end += of.length;
    start[i + 1] = end;
  }
  return { column: { name, type, dictionary, start, codes }, present, distinct: dictionary.length };
}

/** SQL of the ids of an attribute table, column `text`. */
export const idsOf = (staged: StagedAttributes): string => `(SELECT text FROM ${identifier(staged.table)})`;
