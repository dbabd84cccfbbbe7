import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodeItemCounts } from "../../shared/item-counts.ts";
import { encodeItemHours } from "../../shared/item-hours.ts";
import type { ItemColumns } from "../../shared/known-names.ts";
import {
  type Descriptor,
  DIRECTORY_IN_MANIFEST_BYTES_MAX,
  FORMAT,
  FORMAT_WITH_USER_VALUES,
  Manifest,
  MEDIA_TYPES,
  type SessionRules,
} from "../../shared/manifest.ts";
import { leastMemoryBytes } from "../../shared/memory-cost.ts";
import { encodeRecentChoices } from "../../shared/recent-choices.ts";
import {
  encodeRepeatIntervals,
  REPEAT_HISTORY_MAX,
  type RepeatOdds,
  type RepeatTable,
} from "../../shared/repeat-intervals.ts";
import { encodeTogether } from "../../shared/together.ts";
import type { ExportedModel } from "../learn/model.ts";
import { openScorer } from "../learn/scoring/onnx-scorer.ts";
import { itemHours } from "../learn/statistics/item-hours.ts";
import { countRecentChoices } from "../learn/statistics/recent-choices.ts";
import { repeatIntervals } from "../learn/statistics/repeat-intervals.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { itemFiles } from "../read/dataset/item-files.ts";
import { historiesOf, type UserHistories } from "../read/spool/user-histories.ts";
import { StageError } from "../stage/stage-error.ts";
import { type BuiltVersion, describe, manifestBytes, type VersionFile, versionFile } from "../store/version-files.ts";
import { GOLDEN_TOLERANCE, goldenHistories, goldenScores } from "./golden.ts";
import { itemsTogether } from "./items-together.ts";
import { measureSimilarity } from "./measure-similarity.ts";
import { scoreRecipeFile } from "./score-recipe.ts";
import { packUserRecords } from "./write-user-records.ts";

export type VersionInput = ItemColumns & {
  readonly customer: string;
  readonly modelName: string;
  readonly createdAtMs: number;
  /** The dataset that the model was fitted on: its item indices are the model's. */
  readonly dataset: Dataset;
  readonly exported: ExportedModel;
  readonly method: string;
  /** Maximum number of history entries that the model takes. */
  readonly historyMax: number;
  /** All users of the source, with item indices of `dataset`. Absent: the users of `dataset`. */
  readonly users?: UserHistories | undefined;
  /** The file of attribute values (shared/user-values.ts); `users` has the codes. Absent: lists do not depend on users' attributes. */
  readonly userValues?: Uint8Array | undefined;
  /**
   * Memory that an isolate has for versions. If it is too small, the version has no statistics for similar items, no counts for
   * trending ones or no items that are chosen together, and such lists contain more popular or similar items. Absent: no limit.
   */
  readonly edgeMemoryBytes?: number;
  /** Whether the customer has changed items since a training, which takes memory too. */
  readonly haveChanges?: boolean;
  /** Changes of items' values before this time, in epoch seconds, do not hold in the version. Absent: all hold. */
  readonly changesFrom?: number | undefined;
  /** How likely users choose again. Absent: lists with seen items are in the order of the model's scores. */
  readonly repeatOdds?: RepeatOdds | undefined;
  /** Whether lists know at which time of the day each item is chosen. */
  readonly knowsHours?: boolean | undefined;
  /** Present for a model that learns from sessions. */
  readonly sessions?: SessionRules | undefined;
  /** The events that the model listens to, and which of them the dataset has. Absent: none. */
  readonly events?: Manifest["events"] | undefined;
  /** A folder of this run. User records are written to it, so that they are never all in memory. */
  readonly workDirectory: string;
  readonly signal?: AbortSignal;
  /** MB that this process may still take; garbage is collected before it is measured. Absent: as much as it wants. */
  readonly memoryMbFree?: (() => number) | undefined;
  /** `fraction` is 0…1 of the users written. */
  readonly progress?: (fraction: number) => void;
};

/** Builds a version: a manifest and its files. The same input gives the same bytes, digests and name. */
export async function buildVersion(input: VersionInput): Promise<BuiltVersion> {
  const { dataset, exported } = input;
  const files = new Map<string, VersionFile>(); // by digest, so that equal files are stored once
  const add = (file: VersionFile) => {
    files.set(file.descriptor.digest, file);
    return file.descriptor;
  };
  const addBytes = async (bytes: Uint8Array, mediaType: string) => add(await versionFile(bytes, mediaType));
  const weightFile = async ({ path, bytes }: ExportedModel["weights"][number]) => ({
    path,
    file: await addBytes(bytes, MEDIA_TYPES.weights),
  });
  const { catalog, attributes } = itemFiles(dataset, input);
  const { golden, similarityFile } = await measureScores(input);
  const repeats = repeatIntervals(dataset);
  const histories = input.users ?? historiesOf(dataset, dataset.userIds, userSalt(input));
  const users = await userFiles(histories, { ...input, historyMax: entriesOfRecords(input.historyMax, repeats) });

  const necessary = {
    format: input.userValues ? FORMAT_WITH_USER_VALUES : FORMAT,
    customer: input.customer,
    model_name: input.modelName,
    created_at: new Date(input.createdAtMs).toISOString(),
    item_id_type: dataset.itemIdType,
    item_id_column: input.itemIdColumn,
    ...(input.itemCreatedAt !== undefined && { item_created_at: input.itemCreatedAt }),
    item_count: dataset.itemCount,
    ...(dataset.listedCount !== undefined && { listed_count: dataset.listedCount }),
    user_count: users?.userCount ?? 0,
    model: {
      method: input.method,
      history_max: input.historyMax,
      graph: await addBytes(exported.graph, MEDIA_TYPES.model),
      weights: await Promise.all(exported.weights.map(weightFile)),
      golden,
      golden_tolerance: GOLDEN_TOLERANCE,
    },
    catalog: await addBytes(catalog, MEDIA_TYPES.catalog),
    attributes: attributes ? await addBytes(attributes, MEDIA_TYPES.attributes) : null,
    users: users && {
      ...usersInManifest(add(users.directory.file), users.directory.bytes),
      pages: users.pages.map(add),
    },
    item_counts: await addBytes(itemCountsOf(dataset), MEDIA_TYPES.itemCounts),
    ...(input.changesFrom !== undefined && { changes_from: input.changesFrom }),
    ...(input.sessions && { sessions: input.sessions }),
    ...(input.events && { events: input.events }),
    ...(input.userValues && { user_values: await addBytes(input.userValues, MEDIA_TYPES.userValues) }),
  };
  let manifest = checkManifest(necessary);
  const addIfFits = async (
    name: "similarity" | "recent_choices" | "together" | "repeat_intervals" | "item_hours" | "score_recipe",
    bytes: Uint8Array,
    mediaType: string,
  ) => {
    const file = await versionFile(bytes, mediaType);
    const larger = checkManifest({ ...manifest, [name]: file.descriptor });
    if (leastMemoryBytes([larger], input.haveChanges) > (input.edgeMemoryBytes ?? Number.POSITIVE_INFINITY)) return;
    add(file);
    manifest = larger;
  };
  await addIfFits("similarity", similarityFile, MEDIA_TYPES.similarity);
  const recentChoices = encodeRecentChoices(countRecentChoices(dataset));
  await addIfFits("recent_choices", recentChoices, MEDIA_TYPES.recentChoices);
  // Measured after the user records, whose garbage leaves the heap six times as large as what is in it.
  const memoryMb = input.memoryMbFree?.();
  const together = itemsTogether(dataset, { areSessions: input.sessions !== undefined, memoryMb });
  if (together) await addIfFits("together", encodeTogether(together), MEDIA_TYPES.together);
  const withOdds = repeats && encodeRepeatIntervals({ ...repeats, odds: input.repeatOdds });
  if (withOdds) await addIfFits("repeat_intervals", withOdds, MEDIA_TYPES.repeatIntervals);
  const hours = input.knowsHours ? itemHours(dataset) : undefined;
  if (hours) await addIfFits("item_hours", encodeItemHours(hours), MEDIA_TYPES.itemHours);
  const recipe = scoreRecipeFile(exported, dataset.itemCount, golden);
  if (recipe) await addIfFits("score_recipe", recipe, MEDIA_TYPES.scoreRecipe);
  return { version: await versionName(manifest), manifest, files: [...files.values()] };
}

/** The name of a version: compact UTC time, then the first digits of the manifest's digest. Names sort by age. */
export async function versionName(manifest: Manifest): Promise<string> {
  const { digest } = await describe(manifestBytes(manifest), "");
  return `${manifest.created_at.replace(/[-:.]/g, "")}-${digest.slice("sha256:".length, "sha256:".length + 8)}`;
}

/** The time at which a version was made, from its name: epoch milliseconds. NaN for a name of another form. */
export const timeOfVersion = (version: string): number =>
  Date.parse(version.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-.*/, "$1-$2-$3T$4:$5:$6.$7Z"));

async function measureScores({ dataset, exported, historyMax, method }: VersionInput) {
  const scorer = await openScorer(exported, dataset.itemCount);
  try {
    return {
      golden: await goldenScores(scorer, goldenHistories(dataset, historyMax)),
      similarityFile: await measureSimilarity(scorer, dataset, method),
    };
  } finally {
    await scorer.close();
  }
}

function itemCountsOf({ itemCount, items, positive }: Dataset): Uint8Array {
  const [interactions, positives] = [new Uint32Array(itemCount), new Uint32Array(itemCount)];
  for (let at = 0; at < items.length; at++) {
    interactions[items[at]!]!++;
    positives[items[at]!]! += positive[at]!;
  }
  return encodeItemCounts(interactions, positives);
}

/** Newest entries that a record has at least, whatever the model reads, since lists with `seen: only` consist of them. */
const ENTRIES_LEAST = 100;

/** Where items are chosen again, records have as many entries as those from which the weights for such lists were learnt. */
const entriesOfRecords = (historyMax: number, repeats: RepeatTable | undefined) =>
  Math.max(historyMax, repeats ? REPEAT_HISTORY_MAX : ENTRIES_LEAST);

type UserFiles = {
  readonly pages: readonly VersionFile[];
  readonly directory: { readonly file: VersionFile; readonly bytes: Uint8Array };
  readonly userCount: number;
};

async function userFiles(histories: UserHistories, input: VersionInput): Promise<UserFiles | null> {
  if (histories.userCount === 0) return null;
  await mkdir(input.workDirectory, { recursive: true });
  const { signal, progress, historyMax } = input;
  const pages: VersionFile[] = [];
  const storePages = async (bytes: Uint8Array) => {
    pages.push(await fileOnDisk(bytes, join(input.workDirectory, `user-pages-${pages.length}.bin`)));
  };
  const { directory, userCount } = await packUserRecords(histories, { storePages, historyMax, signal, progress });
  const file = await versionFile(directory, MEDIA_TYPES.userDirectory);
  return { pages, directory: { file, bytes: directory }, userCount };
}

/** The directory of the users' records as the manifest has it. */
export const usersInManifest = (directory: Descriptor, bytes: Uint8Array) =>
  bytes.length > DIRECTORY_IN_MANIFEST_BYTES_MAX
    ? { directory }
    : { directory, directory_base64: Buffer.from(bytes).toString("base64") };

/** A file of user pages that is kept in a folder of the run instead of in memory. */
export async function fileOnDisk(bytes: Uint8Array, path: string): Promise<VersionFile> {
  const descriptor = await describe(bytes, MEDIA_TYPES.userPages);
  await writeFile(path, bytes);
  return { descriptor, body: await openAsBlob(path) };
}

/** A salt of the user hashes for one version, if two users have the same hash with the customer's salt. */
export function userSalt({
  customer,
  modelName,
  createdAtMs,
}: Pick<VersionInput, "customer" | "modelName" | "createdAtMs">): Uint8Array {
  return createHash("sha256")
    .update(JSON.stringify(["user-salt", customer, modelName, createdAtMs]))
    .digest()
    .subarray(0, 16);
}

/** The edge refuses a manifest that its schema refuses, so such a version must not be published. */
function checkManifest(manifest: Manifest): Manifest {
  const checked = Manifest.safeParse(manifest);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const fault = `${issue?.path.join(".")} ${issue?.message}`;
  throw new StageError("deploying", "manifest_invalid", `The version cannot be described: ${fault}.`);
}
