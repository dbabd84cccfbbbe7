import type { DataSummary } from "../../../shared/model-record.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { checkingError } from "../../stage/stage-error.ts";
import { countByReason } from "../rules/reject-reasons.ts";
import { spoolUserValues, type UserValueSpool, type ValueSpoolPlace } from "../spool/spool-user-values.ts";
import type { StagedInteractions } from "./check-interactions.ts";
import { checkInteractionsUsable, warningsOf } from "./checks.ts";
import type { Dataset, Interactions } from "./dataset.ts";
import { idWarnings } from "./id-warnings.ts";
import { interactionMb, mbOfInteractions, type RowShape, stagingMb } from "./memory-budget.ts";
import { numberIds, readIds } from "./number-ids.ts";
import {
  idsOf,
  type ReadAttributes,
  readAttributes,
  type StagedAttributes,
  unknownIdsWarning,
} from "./read-attributes.ts";
import { readInteractions, type TieOrder } from "./read-interactions.ts";
import { recentDays } from "./recent-days.ts";
import { type Sessions, sessionCountOf } from "./sessions.ts";
import { type StagedSources, type StageSourcesOptions, stageSources } from "./stage-sources.ts";
import { openStaging, type Staging } from "./staging.ts";
import { userValueTable } from "./user-value-table.ts";
import { withdrawnItems } from "./withdrawn-items.ts";

export type ReadDatasetOptions = StageSourcesOptions & {
  /** A folder for data that does not fit into memory. Only the spool of user values remains in it afterwards. */
  readonly workDirectory: string;
  /** Memory for the reading and the dataset. Default: no limit, and a connector's memory for the staging database. */
  readonly memoryMbMax?: number;
  /** Order of a user's interactions of the same second. Default: by hash, so that the order of rows has no effect. */
  readonly tieOrder?: TieOrder;
  /** Where to write the attribute values of all users of the user query, for their records. */
  readonly userValues?: ValueSpoolPlace;
};

export type ReadDataset = {
  readonly dataset: Dataset;
  /** Null where no column names sessions, and where sessions are users. */
  readonly sessions: Sessions | null;
  readonly summary: DataSummary;
  /** Null when no attribute value belongs to many users. */
  readonly userValues: UserValueSpool | null;
};

/**
 * Reads everything that a specification's queries give, checks it and puts it into typed arrays. Users and items are
 * numbered in the order of their ids, so that the same rows in another order give the same dataset.
 *
 * Throws StageError (fetching or checking); the signal's reason when it is aborted.
 */
export async function readDataset(spec: ModelSpec, options: ReadDatasetOptions): Promise<ReadDataset> {
  const staging = await openStagingOf(options);
  try {
    const staged = await stageSources(staging, spec, options);
    const { progress } = options;
    progress({ detail: "numbering users and items" });
    checkFits(staged.interactions.accepted, spec.schema.interaction, options.memoryMbMax);
    await numberIds(staging, staged.interactions, moreItemsSql(staged));
    const aboutIds = await idWarnings(staging, staged.interactions);
    const { interactions, sessions, duplicates } = await collect(staging, staged.interactions, options);
    checkInteractionsUsable(interactions, spec.schema.interaction.label);
    const nowSeconds = options.nowMs / 1000;
    const counts = { duplicates, sessions: sessionCountOf(spec.schema, sessions, interactions), nowSeconds };

    progress({ detail: "reading attributes" });
    const { itemCount, userCount } = interactions;
    const itemAttributes = await attributesOf(staging, staged.items, { what: "item", count: itemCount });
    const compared = await withdrawnItems(staging, staged.items, spec.schema.item);
    const userAttributes = await attributesOf(staging, staged.users, { what: "user", count: userCount });
    const userValues = await valuesOf(staging, staged.users, userAttributes, options);
    const dataset: Dataset = {
      ...interactions,
      itemIds: await readIds(staging, "items"),
      userIds: await readIds(staging, "users"),
      itemIdType: staged.interactions.itemIdType,
      itemAttributes: itemAttributes.columns,
      userAttributes: userAttributes.columns,
      ...(compared?.withdrawn && { withdrawn: compared.withdrawn.flags }),
    };
    const summary: DataSummary = {
      ...countsOf(interactions),
      ...(counts.sessions !== undefined && { sessions: counts.sessions }),
      rejected_rows: countByReason(staged.report.rejected),
      duplicate_rows: duplicates,
      ...(staged.items && { catalog_items: staged.items.rows, chosen_catalog_items: compared!.chosen }),
      ...(options.erased && { erased_rows: staged.erasedRows }),
      ...(staged.sources.length > 0 && { sources: [...staged.sources] }),
      item_attributes: [...itemAttributes.descriptions],
      user_attributes: [...userAttributes.descriptions],
      warnings: [
        ...staged.warnings,
        ...warningsOf(interactions, staged.report, counts),
        ...aboutIds.map(({ message }) => message),
        ...(compared?.withdrawn ? [compared.withdrawn.warning] : []),
        ...itemAttributes.warnings,
        ...userAttributes.warnings,
      ].slice(0, WARNINGS_MAX),
    };
    return { dataset, sessions, summary, userValues };
  } finally {
    await staging.close();
  }
}

/** The staging database of a reading, with the part of its memory that is for staging. */
export function openStagingOf(options: ReadDatasetOptions, mbOf = stagingMb): Promise<Staging> {
  const { workDirectory, memoryMbMax = Number.POSITIVE_INFINITY, context, signal } = options;
  const { memoryMb, diskBytesMax } = context.settings;
  return openStaging({ workDirectory, memoryMb: Math.min(memoryMb, mbOf(memoryMbMax)), diskBytesMax, signal });
}

const WARNINGS_MAX = 50;

/** SQL of the ids of items that need not have interactions, column `text`. */
function moreItemsSql({ items, catalog, eventItemsSql }: StagedSources): string | null {
  const relations = [
    ...(eventItemsSql ? [eventItemsSql] : []),
    ...(items ? [idsOf(items)] : []),
    ...(catalog ? [`(SELECT CAST(c0 AS VARCHAR) AS text FROM ${catalog.name})`] : []),
  ];
  return relations.length === 0 ? null : `(${relations.map((ids) => `SELECT text FROM ${ids}`).join(" UNION ")})`;
}

/** Throws StageError `too_many_interactions` before the arrays are allocated. */
function checkFits(accepted: number, row: RowShape, memoryMbMax = Number.POSITIVE_INFINITY): void {
  const [neededMb, mb] = [mbOfInteractions(accepted, row), interactionMb(memoryMbMax)];
  if (neededMb <= mb) return;
  throw checkingError(
    "too_many_interactions",
    `${accepted} interactions need ${Math.ceil(neededMb)} MB, and ${Math.floor(mb)} MB of this run's memory are for them; ` +
      "narrow the query, such as to the newest interactions, or give the run more memory",
  );
}

async function collect(staging: Staging, checked: StagedInteractions, options: ReadDatasetOptions) {
  const { progress, tieOrder = "hash" } = options;
  progress({ detail: "sorting rows", rows: checked.accepted });
  return await readInteractions(staging, checked, {
    tieOrder,
    progress: (rows) => progress({ detail: "collecting rows", rows, fraction: rows / Math.max(1, checked.accepted) }),
  });
}

async function attributesOf(
  staging: Staging,
  staged: StagedAttributes | undefined,
  { what, count }: { readonly what: "item" | "user"; readonly count: number },
): Promise<ReadAttributes> {
  if (staged === undefined) return { columns: [], descriptions: [], warnings: [] };
  const read = await readAttributes(staging, staged, { index: `${what}s`, count });
  // The table `items` also has the items of the item query.
  const known = what === "item" ? "item_texts" : "users";
  const unknownIds = await unknownIdsWarning(staging, staged, { known, what });
  return { ...read, warnings: [...staged.warnings, ...(unknownIds ? [unknownIds] : []), ...read.warnings] };
}

/** Users with interactions decide which values there are. The values of all users are written to the spool. */
async function valuesOf(
  staging: Staging,
  staged: StagedAttributes | undefined,
  { columns }: ReadAttributes,
  { userValues: place, progress }: ReadDatasetOptions,
): Promise<UserValueSpool | null> {
  const table = userValueTable(columns);
  if (staged === undefined || place === undefined || table.valueCount === 0) return null;
  progress({ detail: "writing users' attribute values" });
  return await spoolUserValues(staging, staged, { ...place, table });
}

function countsOf({ userCount, itemCount, items, positive, times }: Interactions) {
  let positives = 0;
  let [from, to] = [Number.POSITIVE_INFINITY, 0];
  for (let row = 0; row < items.length; row++) {
    positives += positive[row]!;
    if (times[row]! < from) from = times[row]!;
    if (times[row]! > to) to = times[row]!;
  }
  const iso = (seconds: number) => (items.length === 0 ? null : new Date(seconds * 1000).toISOString());
  return {
    users: userCount,
    items: itemCount,
    interactions: items.length,
    positives,
    from: iso(from),
    to: iso(to),
    ...(items.length > 0 && { recent_days: recentDays(times, { from, to }) }),
  };
}
