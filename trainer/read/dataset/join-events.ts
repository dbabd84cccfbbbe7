import type { ErasedUsers } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { type ConnectorConfig, EVENTS_QUERY, EVENTS_SCHEMA, type ModelSchema } from "../../../shared/model-spec.ts";
import { eventTypes, PERSONS, TYPE_LABEL, tableOfPersons } from "../connectors/events/events.ts";
import { eventValues, idReading } from "../rules/dialect.ts";
import { ofText } from "../rules/id-expression.ts";
import { describeRejected, type Rejected } from "../rules/reject-reasons.ts";
import { checkInteractions, interactionColumns, type StagedInteractions } from "./check-interactions.ts";
import { leaveOutErased } from "./leave-out-erased.ts";
import { openQuery, type QueryOptions, stageOpened } from "./stage-query.ts";
import { readRow, type Staging } from "./staging.ts";

type JoinOptions = QueryOptions & {
  readonly erased?: ErasedUsers | undefined;
  readonly nowMs: number;
  /** Whether the interactions are those of a sample of the users. Then the events of other users do not join them. */
  readonly isSample: boolean;
  /** For each id that was merged into another, the id of the person. */
  readonly persons: ReadonlyMap<UserId, UserId>;
};

/** The interactions of another source together with the events of a connector, both with their ids as text. */
export async function joinEvents(
  staging: Staging,
  { interactions, schema }: { readonly interactions: StagedInteractions; readonly schema: ModelSchema },
  config: ConnectorConfig,
  options: JoinOptions,
) {
  const source = { query: EVENTS_QUERY, ...(config.id !== undefined && { connector_id: config.id }) };
  const query = { name: "event_rows", what: "events", source, choose: () => [...interactionColumns(TYPED_EVENTS)] };
  const { table: all } = await stageOpened(staging, await openQuery(query, options), options);
  const { table, rows: erasedRows } = await leaveOutErased(
    staging,
    all,
    options.erased,
    idReading("user", EVENTS_SCHEMA),
  );
  const events = await checkInteractions(staging, table, TYPED_EVENTS, Math.floor(options.nowMs / 1000));
  // Answers have the ids as numbers, so no other id can join them.
  const canJoin = interactions.itemIdType === "integer" ? "regexp_full_match(item_id, '0|-?[1-9][0-9]*')" : "true";
  const [ownId, itemId] = [interactions.userKey.text("user_id"), interactions.itemKey.text("item_id")];
  // The ids of events are those of persons already.
  if (options.persons.size > 0) await tableOfPersons(staging.connection, options.persons);
  const userId = options.persons.size > 0 ? "COALESCE(person, own_id)" : ownId;
  const own =
    options.persons.size > 0
      ? `(SELECT *, ${ownId} AS own_id FROM ${interactions.acceptedSql}) LEFT JOIN ${PERSONS} ON id = own_id`
      : interactions.acceptedSql;
  const candidates = `(SELECT * FROM ${events.acceptedSql} WHERE ${canJoin})`;
  const known = `user_id IN (SELECT ${userId} FROM ${own})`;
  const joinable = options.isSample ? `(SELECT * FROM ${candidates} WHERE ${known})` : candidates;
  const counts = await readRow(
    staging,
    `SELECT (SELECT count(*) FROM ${joinable}) AS joined, (SELECT count(*) FROM ${candidates}) AS candidates`,
  );
  const session = (value: string) => (interactions.hasSessions ? `, ${value}` : ""); // events name no session
  const refused = events.accepted - Number(counts.candidates);
  return {
    /** With the rejected rows of their own source. */
    interactions: {
      ...interactions,
      accepted: interactions.accepted + Number(counts.joined),
      acceptedSql: `(SELECT row, ${userId} AS user_id, ${itemId} AS item_id, seconds, positive, rating${session("session_id")}
        FROM ${own}
        UNION ALL SELECT row, user_id, item_id, seconds, positive, ${ratingSql(schema)} AS rating${session("NULL")} FROM ${joinable})`,
      userKey: ofText(interactions.userKey),
      itemKey: ofText(interactions.itemKey),
    },
    /** SQL of the ids of all items with events, column `text`. */
    eventItemsSql: `(SELECT DISTINCT item_id AS text FROM ${candidates})`,
    /** How many of the interactions are events. */
    joined: Number(counts.joined),
    erasedRows,
    warnings: [...(refused > 0 ? [notInteger(refused)] : []), ...leftOut(events.rejected)],
  };
}

const TYPED_EVENTS: ModelSchema = {
  ...EVENTS_SCHEMA,
  interaction: { ...EVENTS_SCHEMA.interaction, label: TYPE_LABEL },
};

/**
 * A positive event counts as the lowest positive rating, as the weight 1, or as the label of that type; where the label names another type,
 * 1. Another event counts as no rating.
 */
function ratingSql({ interaction: { label, events = {} } }: ModelSchema): string {
  if (label.type === "Binary") return "NULL";
  if (label.type === "Rating") return `CASE positive WHEN 1 THEN ${label.positive_from} ELSE 0 END`;
  if (label.type === "Weight") return "positive";
  const values = eventTypes(events).positive.map((type) => eventValues(label).get(type) ?? 1);
  return `CASE rating ${values.map((value, i) => `WHEN ${i + 1} THEN ${value}`).join(" ")} ELSE 0 END`;
}

const notInteger = (events: number) =>
  `${events} events were left out because their item id is not an integer, as those of the interactions are`;

/** Events that are no interactions. They are counted apart from the rows of the source. */
function leftOut(rejected: Rejected): string[] {
  const counts = Object.entries(rejected).map(([reason, { count }]) => [reason, { count, firstRows: [] }] as const);
  return describeRejected(Object.fromEntries(counts)).map((text) => `Events left out: ${text}`);
}
