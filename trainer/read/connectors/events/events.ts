import type { DuckDBConnection } from "@duckdb/node-api";
import { assert } from "../../../../shared/assert.ts";
import { type ConnectorConfig, connectorOf, EVENTS, type ModelSpec } from "../../../../shared/model-spec.ts";
import type { StageError } from "../../../stage/stage-error.ts";
import { eventValues } from "../../rules/dialect.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions, SourceRows } from "../connector.ts";
import { columnsOf } from "../duckdb/columns.ts";
import { sandboxQueries } from "../duckdb/queries.ts";
import { estimateRowsOfAll, sizeOf } from "../duckdb/row-estimate.ts";
import { openSandbox } from "../duckdb/sandbox.ts";
import { parseConfig } from "../source-error.ts";
import { literal } from "../sql-text.ts";
import { EventsConfig } from "./config.ts";
import { damagedFile, type FetchedEvents } from "./fetch-events.ts";

const TABLE = "events";
/** The ids that were merged into others. Customers' queries cannot name this table. */
export const PERSONS = "persons";

/**
 * The table `events`: what users of the customer have done, one row for each event whose type makes its item seen. Other events
 * teach a model nothing. The files have been fetched before (fetch-events.ts). Queries are DuckDB's SELECT.
 */
export async function connectEvents(
  config: ConnectorConfig,
  { settings, events }: ConnectorContext,
): Promise<Connector> {
  parseConfig(config, EventsConfig);
  assert(events, "events are fetched before their connector is opened");
  const sandbox = await openSandbox(events.files, settings, async (connection) => {
    if (events.persons.size > 0) await tableOfPersons(connection, events.persons);
    await connection.run(`CREATE VIEW ${TABLE} AS ${tableSql(events)}`);
  });
  const explain = (error: unknown): StageError => {
    const explained = sandbox.explain(error);
    const isDamaged = explained.code === "file_malformed" || /JSON transform error/.test(explained.message);
    return isDamaged ? damagedFile(explained.message, error) : explained;
  };
  const queries = sandboxQueries(sandbox, settings, explain);
  const estimate = () => estimateRowsOfAll(sandbox.parser, events.files);
  return {
    async inspect(query, signal): Promise<Inspection> {
      const { inner } = await queries.check(query, [TABLE]);
      return {
        columns: await queries.describe(inner, signal),
        estimatedRows: await estimate(),
        estimatedBytes: sizeOf(events.files),
        estimatedCostUsd: 0,
      };
    },
    async read(query, options: ReadOptions): Promise<SourceRows> {
      const { inner } = await queries.check(query, [TABLE]);
      const { result, chunks } = await queries.rows(inner, options);
      const expectedRows = options.limit === undefined ? await estimate() : null;
      return { columns: columnsOf(result), chunks, expectedRows };
    },
    close: sandbox.close,
  };
}

/** Makes a table of ids that were merged, column `id`, and of the ids of the persons, column `person`. */
export async function tableOfPersons(connection: DuckDBConnection, persons: FetchedEvents["persons"]): Promise<void> {
  await connection.run(`CREATE TABLE ${PERSONS} (id VARCHAR, person VARCHAR)`);
  const appender = await connection.createAppender(PERSONS);
  for (const [id, person] of persons) {
    appender.appendVarchar(id);
    appender.appendVarchar(person);
    appender.endRow();
  }
  appender.closeSync();
}

/** The types of events by their meaning: positive, seen, and those that only say that a list was shown. */
export function eventTypes(meanings: FetchedEvents["meanings"]) {
  const types = Object.keys(meanings);
  return {
    positive: types.filter((type) => meanings[type]!.label),
    seen: types.filter((type) => meanings[type]!.seen),
    shown: types.filter((type) => !meanings[type]!.seen),
  };
}

/** The column with the number of a positive type from 1 on, in the order of the meanings; 0 for other types. */
const TYPE_NUMBER = "positive_type";

/** The label of a row of events that is the number of its type. */
export const TYPE_LABEL = { type: "Weight", name: TYPE_NUMBER } as const;

/**
 * A model that learns from live events of several positive types alone reads the number of their type instead of a label, so that methods
 * can weigh types differently (`Interactions.eventTypes`). So does one whose label is the type of event.
 */
export function withEventTypes(spec: ModelSpec): { readonly spec: ModelSpec; readonly eventTypes?: readonly string[] } {
  const { interaction } = spec.schema;
  const { label } = interaction;
  if (label.type === "Events") {
    const types = [...eventValues(label)].sort(([, a], [, b]) => a - b).map(([type]) => type);
    return types.length < 2 || label.weights ? { spec } : { spec, eventTypes: types };
  }
  if (connectorOf(spec, interaction.source).type !== EVENTS || !interaction.events) return { spec };
  const { positive } = eventTypes(interaction.events);
  if (positive.length < 2) return { spec };
  return {
    spec: { ...spec, schema: { ...spec.schema, interaction: { ...interaction, label: TYPE_LABEL } } },
    eventTypes: positive,
  };
}

function tableSql(events: FetchedEvents): string {
  const { positive, seen } = eventTypes(events.meanings);
  const isAmong = (types: readonly string[]) => `type IN (${types.map(literal).join(", ")})`;
  const typeNumber = `COALESCE(list_position([${positive.map(literal).join(", ")}], type), 0)`;
  const stored = storedEventsSql(events);
  const [userId, from] =
    events.persons.size === 0
      ? ["user_id", stored]
      : ["COALESCE(person, user_id) AS user_id", `${stored} LEFT JOIN ${PERSONS} ON id = user_id`];
  return `SELECT ${userId}, item_id, type, make_timestamp(CAST(floor(created_at) AS BIGINT) * 1000000) AS created_at,
      ${isAmong(positive)} AS label, value, event_id, rank_id, ${typeNumber} AS ${TYPE_NUMBER}
    FROM ${from} WHERE ${isAmong(seen)}`;
}

const TEXTS = ["event_id", "user_id", "item_id", "type", "rank_id"];

/** The expression after FROM that reads all stored events. `seq`, the number in the shard, is 0 where there is no file. */
export function storedEventsSql({ files }: Pick<FetchedEvents, "files">): string {
  const numbers = ["created_at: 'DOUBLE'", "value: 'DOUBLE'", "seq: 'BIGINT'"];
  const columns = [...TEXTS.map((name) => `${name}: 'VARCHAR'`), ...numbers].join(", ");
  return files.length > 0
    ? `read_json([${files.map(({ path }) => literal(path)).join(", ")}],
        format = 'newline_delimited', compression = 'gzip', columns = {${columns}})`
    : `(SELECT ${TEXTS.map((name) => `'' AS ${name}`).join(", ")}, 0.0 AS created_at, 0.0 AS value, 0 AS seq LIMIT 0)`;
}
