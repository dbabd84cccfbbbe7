/** Many files as one table: their columns are joined by name, and `dt=2024-01-01` in a path is a column `dt`. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { failSource } from "../source-error.ts";
import { identifier, literal } from "../sql-text.ts";
import type { FileTable, TypedColumn } from "./columns.ts";
import type { SourceFile } from "./files.ts";
import { fileTable } from "./table.ts";

/** Each is a query of its own in the view, which takes about a millisecond to plan. */
const TEXT_FILES_MAX = 1000;

type Part = {
  readonly table: FileTable;
  readonly partition: Readonly<Record<string, string | null>>;
  readonly writtenMs: number;
};

export type TableOpening = {
  readonly typedByRows: number;
  /** Called between files. */
  readonly checkStopped: () => void;
  readonly explain: (error: unknown, file: SourceFile | undefined) => Error;
};

/** Throws StageError that names the file which cannot be read; `too_many_files`. */
export async function tableOfFiles(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
  { typedByRows, checkStopped, explain }: TableOpening,
): Promise<FileTable> {
  const texts = files.filter(({ format }) => format !== "parquet");
  if (texts.length > TEXT_FILES_MAX)
    failSource(
      "too_many_files",
      `The table ${JSON.stringify(files[0]!.table)} has ${texts.length} text files; at most ${TEXT_FILES_MAX} can be one table, and more as Parquet`,
    );
  const parts: Part[] = [];
  for (const group of Map.groupBy(files, groupOf).values()) {
    const file = group.length === 1 ? group[0]! : undefined;
    try {
      const table = file ? await fileTable(connection, file, typedByRows) : parquetTable(group);
      const writtenMs = Math.max(...group.map((one) => one.writtenMs));
      parts.push({ table, partition: group[0]!.partition ?? {}, writtenMs });
    } catch (error) {
      throw explain(error, file);
    }
    checkStopped(); // finding types may have gone on after an interruption
  }
  return parts.length === 1 && Object.keys(parts[0]!.partition).length === 0 ? parts[0]!.table : union(parts);
}

/** Parquet files of one partition are read together. */
const groupOf = ({ path, format, partition }: SourceFile): string =>
  format === "parquet" ? `parquet ${JSON.stringify(partition ?? {})}` : path;

const parquetTable = (files: readonly SourceFile[]): FileTable => ({
  columns: [],
  from: () => `read_parquet([${files.map(({ path }) => literal(path)).join(", ")}], union_by_name = true)`,
});

function union(parts: readonly Part[]): FileTable {
  const { columns, mixed } = mergedColumns(parts.map(({ table }) => table.columns));
  const partitions = [...new Set(parts.flatMap(({ partition }) => Object.keys(partition)))];
  return {
    columns,
    from(asText = new Set(), writtenSinceMs = -Infinity) {
      const texts = new Set([...asText].map((name) => name.toLowerCase()).concat(mixed));
      const selects = parts.map(({ table, partition, writtenMs }) => {
        const read = table.columns.filter(({ name }) => texts.has(name.toLowerCase())).map(({ name }) => name);
        const values = partitions.map((name) => {
          const value = partition[name] ?? null;
          return `, ${value === null ? "CAST(NULL AS VARCHAR)" : literal(value)} AS ${identifier(name)}`;
        });
        // As in other readers, the path counts where a file has a column of the same name.
        const names = partitions.map((name) => literal(name.toLowerCase())).join(", ");
        const own = partitions.length === 0 ? "*" : `COLUMNS(c -> lower(c) NOT IN (${names}))`;
        const end = writtenMs < writtenSinceMs ? " LIMIT 0" : ""; // its columns stay, and the file is not read
        return `(SELECT ${own}${values.join("")} FROM ${table.from(new Set(read))}${end})`;
      });
      return `(${selects.join(" UNION ALL BY NAME ")})`;
    },
  };
}

const FAMILIES = [
  ["BIGINT", "DOUBLE"],
  ["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"],
];

/** The columns of all files. `mixed` are those, in lower case, whose values are of several kinds and read as they are written. */
function mergedColumns(tables: readonly (readonly TypedColumn[])[]) {
  const mixed: string[] = [];
  const byName = Map.groupBy(tables.flat(), ({ name }) => name.toLowerCase());
  const columns = [...byName].map(([lowerName, found]): TypedColumn => {
    const { name } = found[0]!;
    const types = [...new Set(found.map(({ type }) => type))];
    if (types.length === 1) return { name, type: types[0]!, isExact: found.every(({ isExact }) => isExact) };
    const family = FAMILIES.find((members) => types.every((type) => members.includes(type)));
    if (family) return { name, type: family.findLast((type) => types.includes(type))!, isExact: false };
    mixed.push(lowerName);
    return { name, type: "VARCHAR", isExact: true };
  });
  return { columns, mixed };
}
