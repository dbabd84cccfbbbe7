import type { DuckDBConnection } from "@duckdb/node-api";
import * as z from "zod";
import { didYouMean } from "../../../../shared/nearest-name.ts";
import { failSource as fail } from "../source-error.ts";

export type CheckedSelect = {
  /** The tables that the SELECT reads. */
  readonly tables: readonly string[];
  /** Whether it also makes rows that are in no table. */
  readonly makesRows: boolean;
  /** Names of columns, in lower case, from which expressions of these names are made; the names themselves are among them. */
  namesBehind(outputs: readonly string[]): ReadonlySet<string>;
};

/** Table functions that only make rows out of their arguments. All others read a file or a system table. */
const TABLE_FUNCTIONS = new Set([
  "range",
  "generate_series",
  "unnest",
  "json_each",
  "json_tree",
  "regexp_split_to_table",
]);
/** Functions that reveal facts about the machine or write to its log. */
const REFUSED_FUNCTIONS = new Set(["current_setting", "getenv", "getvariable", "write_log", "nextval", "currval"]);
/**
 * Names of DuckDB's system views. A WITH of such a name is refused: where it is not in scope, the name would mean the view, which
 * reveals facts about the machine.
 */
const SYSTEM_NAME = /^(duckdb|pg|pragma|sqlite|reject)_/;
const SYNTAX_NODES_MAX = 100_000;

const Serialized = z.union([
  z.object({ error: z.literal(false), statements: z.array(z.unknown()) }),
  z.object({
    error: z.literal(true),
    error_type: z.string(),
    error_message: z.string(),
    position: z.string().optional(),
  }),
]);

/**
 * Checks with DuckDB's own parser that a text is one SELECT that reads only the given tables. The instance must be locked as well:
 * this check gives clear errors, the lock gives the security.
 *
 * Throws StageError `source_query_failed` (does not parse), `source_query_not_select`, `source_query_refused`,
 * `source_table_not_found`.
 */
export async function checkSelect(
  connection: DuckDBConnection,
  query: string,
  tables: readonly string[],
): Promise<CheckedSelect> {
  const reader = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [query]);
  const parsed = Serialized.parse(JSON.parse(String(reader.value(0, 0))));
  if (parsed.error) failToParse(query, parsed);
  if (parsed.statements.length !== 1)
    fail("source_query_not_select", `The query has ${parsed.statements.length} statements; expected one SELECT`);

  const nodes = [...nodesOf(parsed.statements[0])];
  const withs = new Set(nodes.flatMap(withNames));
  const own = [...withs].find((name) => SYSTEM_NAME.test(name));
  if (own !== undefined)
    fail("source_query_refused", `The query calls a WITH ${JSON.stringify(own)}, which is DuckDB's own; rename it`);
  const read = new Set<string>();
  for (const node of nodes) {
    const table = checkNode(node, { tables, withs });
    if (table !== undefined) read.add(table);
  }
  const makesRows = nodes.some(({ type }) => type === "TABLE_FUNCTION");
  return { tables: [...read], makesRows, namesBehind: (outputs) => namesBehind(nodes, outputs) };
}

/** Parts of an expression that decide which value it has, but are not the value. */
const CONDITIONS = new Set(["COMPARISON", "CONJUNCTION", "BETWEEN"]);

function namesBehind(nodes: readonly Node[], outputs: readonly string[]): ReadonlySet<string> {
  const made = nodes.filter((node) => node.class !== undefined && node.alias !== undefined && node.alias !== "");
  const names = new Set(outputs.map((name) => name.toLowerCase()));
  for (let size = -1; size < names.size; ) {
    size = names.size;
    for (const node of made)
      if (names.has(String(node.alias).toLowerCase()))
        for (const part of nodesOf(node, (one) => !CONDITIONS.has(String(one.class))))
          if (part.class === "COLUMN_REF") names.add(String((part.column_names as string[]).at(-1)).toLowerCase());
  }
  return names;
}

type Node = Readonly<Record<string, unknown>>;

/** All objects of a syntax tree, without those below a node that is not wanted. Iterative, because a hostile tree is deep. */
function* nodesOf(root: unknown, isWanted: (node: Node) => boolean = () => true): Generator<Node> {
  const open: unknown[] = [root];
  for (let count = 0; open.length > 0; count++) {
    if (count > SYNTAX_NODES_MAX) fail("source_query_refused", "The query is too complicated; write a simpler one");
    const value = open.pop();
    if (Array.isArray(value)) for (const element of value) open.push(element);
    else if (typeof value === "object" && value !== null && isWanted(value as Node)) {
      yield value as Node;
      for (const element of Object.values(value))
        if (typeof element === "object" && element !== null) open.push(element);
    }
  }
}

/** The names that a WITH clause defines. */
function withNames(node: Node): string[] {
  const map = (node.cte_map as { map?: { key: string }[] } | undefined)?.map;
  return Array.isArray(map) ? map.map((entry) => String(entry.key).toLowerCase()) : [];
}

/** Refuses a node that reads anything but the tables. Returns the table that it reads, if any. */
function checkNode(
  node: Node,
  known: { readonly tables: readonly string[]; readonly withs: ReadonlySet<string> },
): string | undefined {
  if (node.type === "SHOW_REF")
    fail("source_query_not_select", "The query describes a table; expected a SELECT of its rows");
  if (node.type === "TABLE_FUNCTION") {
    const name = String((node.function as Node | undefined)?.function_name ?? "").toLowerCase();
    if (!TABLE_FUNCTIONS.has(name))
      fail(
        "source_query_refused",
        `The query calls ${JSON.stringify(name)}, which is not allowed: files are read by their table names only, ` +
          listed(known.tables),
      );
  }
  if (node.class === "FUNCTION" && REFUSED_FUNCTIONS.has(String(node.function_name).toLowerCase()))
    fail("source_query_refused", `The query calls ${JSON.stringify(node.function_name)}, which is not allowed`);
  if (node.type !== "BASE_TABLE") return undefined;

  const name = String(node.table_name);
  // A WITH named like a table may read that table, so the table counts as read.
  const table = known.tables.find((one) => one.toLowerCase() === name.toLowerCase());
  const schema = String(node.schema_name ?? "").toLowerCase();
  if (schema === "" && known.withs.has(name.toLowerCase())) return table;
  if (table === undefined || !["", "main"].includes(schema))
    fail(
      "source_table_not_found",
      `There is no table ${JSON.stringify(name)}; ${listed(known.tables)}${didYouMean(name, known.tables)}`,
    );
  return table;
}

const listed = (tables: readonly string[]) =>
  `the tables are ${tables
    .slice(0, 20)
    .map((name) => JSON.stringify(name))
    .join(", ")}${tables.length > 20 ? " and others" : ""}`;

function failToParse(
  query: string,
  { error_type, error_message, position }: z.infer<typeof Serialized> & { error: true },
): never {
  if (error_type !== "parser") fail("source_query_not_select", "The query is not a SELECT; only SELECT can be run");
  if (query.trim() === "" || /no statement/i.test(error_message))
    fail("source_query_not_select", "The query is empty; expected a SELECT");
  const before = position === undefined ? "" : query.slice(0, Number(position));
  const where =
    position === undefined
      ? ""
      : ` at line ${before.split("\n").length}, column ${before.length - before.lastIndexOf("\n")}`;
  fail("source_query_failed", `The query does not parse${where}: ${error_message}`);
}
