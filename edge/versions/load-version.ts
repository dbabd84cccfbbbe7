import { FormatError } from "../../shared/assert.ts";
import { type AttributeTable, decodeAttributes } from "../../shared/attributes.ts";
import { type Catalog, decodeCatalog } from "../../shared/catalog.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { decodeItemHours, type ItemHours } from "../../shared/item-hours.ts";
import type { PlacedItems } from "../../shared/items/placed-items.ts";
import { blobKey, type Descriptor, type GoldenScores, Manifest, manifestKey } from "../../shared/manifest.ts";
import { passingBytes } from "../../shared/memory-cost.ts";
import { fewScores } from "../../shared/rank/few-scores.ts";
import { type ChoiceCounts, decodeRecentChoices } from "../../shared/recent-choices.ts";
import { decodeRepeatIntervals, type RepeatIntervals } from "../../shared/repeat-intervals.ts";
import { decodeRecipe, type StoredRecipe } from "../../shared/score-recipe.ts";
import { decodeSimilarity, type Similarity } from "../../shared/similarity.ts";
import { type History, isBeyond, type Snapshot } from "../../shared/snapshot.ts";
import { decodeTogether, type Together } from "../../shared/together.ts";
import { decodeUserDirectory, type UserDirectory } from "../../shared/user-records.ts";
import { decodeUserValues, type UserValues } from "../../shared/user-values.ts";
import { type ArtifactReader, isUnreadable, parsed } from "../reading/artifact-reader.ts";
import { digestOf, PIECE_BYTES, type Piece, type Pieces, wholeOf } from "../reading/pieces.ts";
import type { ModelVersion } from "./live-pointers.ts";
import { openScorer, type Scorer } from "./scorer.ts";

/** One version in memory, every byte checked. It is immutable and does no I/O, so any request may use it. */
export type LoadedVersion = {
  readonly target: ModelVersion;
  readonly manifest: Manifest;
  readonly catalog: Catalog;
  /** Items of the catalog behind those of the version, which the customer has added since. Absent: none. */
  readonly newCount?: number;
  /** The new items that the version's extension scores. Absent: none. */
  readonly placed?: PlacedItems | undefined;
  readonly attributes: AttributeTable | null;
  /** Whether an item is in no answer: it is withdrawn, or the customer has hidden it since. Absent: none is. */
  readonly isHidden?: Snapshot["isHidden"];
  readonly directory: UserDirectory | null;
  readonly userValues: UserValues | null;
  readonly similarity: Similarity | null;
  readonly recentChoices: ChoiceCounts | null;
  readonly together: Together | null;
  readonly repeatIntervals: RepeatIntervals | null;
  readonly itemHours: ItemHours | null;
  readonly scorer: Scorer;
  /** Scores of a few items without the graph. Absent in versions that do not allow it. */
  readonly fewScores?: FewScorer | undefined;
};

type FewScorer = (histories: readonly History[], items: readonly ItemIndex[]) => readonly Float64Array[] | undefined;

/** Takes the manifest from the pointer, or reads its file if the pointer has none or a wrong one. Throws ReadError, FormatError. */
export async function readManifest(
  { customer, modelName, live, manifestJson }: ModelVersion,
  reader: ArtifactReader,
): Promise<Manifest> {
  const key = manifestKey(customer, modelName, live.version);
  const given = Uint8Array.from(new TextEncoder().encode(manifestJson));
  const isRight = (await digestOf(given)) === live.manifest.digest; // not if it is absent, which gives no bytes
  const bytes = isRight ? given : await reader.file(key, live.manifest);
  const manifest = parsed(key, bytes, Manifest);
  if (manifest.customer !== customer || manifest.model_name !== modelName)
    throw new FormatError(`${key}: expected the model ${customer}/${modelName}, found another one's manifest`);
  return manifest;
}

/** Where the records of a version's users are. It is known long before the version is loaded. */
export type UserPlaces = Pick<LoadedVersion, "target" | "manifest" | "directory">;

/**
 * Reads, checks and opens everything that ranking with a version needs. Throws ReadError, FormatError.
 *
 * @param onUsers Called as soon as the directory of the users is there: at once, if the manifest contains it.
 */
export async function loadVersion(
  target: ModelVersion,
  manifest: Manifest,
  reader: ArtifactReader,
  onUsers?: (users: UserPlaces) => void,
): Promise<LoadedVersion> {
  const { model, item_count } = manifest;
  const keyOf = (file: Descriptor) => blobKey(target.customer, target.modelName, file.digest);
  const read = (file: Descriptor) => reader.file(keyOf(file), file);
  const weightBytes = model.weights.reduce((sum, { file }) => sum + file.size, 0);
  const passing = passingBytes(weightBytes);
  const piecesOf = (file: Descriptor) => reader.pieces(keyOf(file), file, passing);
  const files = model.weights.map(({ file }) => file);
  const isBegun = readBesideGraph(files, weightBytes <= passing);
  const openedAhead = new Set(files.filter(isLarge).slice(1, OPEN_FILES));
  const weights = model.weights.map(({ path, file }) => {
    const pieces = piecesOf(file);
    if (openedAhead.has(file)) pieces.open();
    return { path, size: file.size, pieces: isBegun.has(file) ? begun(pieces) : () => pieces };
  });
  const [opening, decoding] = await Promise.allSettled([
    read(model.graph).then((graph) => opened(openScorer(graph, weights, item_count))),
    readDecoded(manifest, { read, piecesOf }, (directory) => onUsers?.({ target, manifest, directory })),
  ]);
  if (opening.status === "rejected") throw opening.reason;
  const scorer = opening.value;
  try {
    if (decoding.status === "rejected") throw decoding.reason;
    for (const golden of model.golden) await checkGolden(scorer, golden, model.golden_tolerance);
    const isHidden = isBeyond(manifest.listed_count ?? item_count, item_count);
    const { manifestJson: _, ...named } = target;
    const { recipe, ...decoded } = decoding.value;
    return { target: named, manifest, ...decoded, isHidden, scorer, fewScores: fewScorer(manifest, recipe, scorer) };
  } catch (error) {
    await scorer.release();
    throw error;
  }
}

/**
 * The weights that are read at the same time as the graph, which says where they belong. Until then they are in JavaScript: few weights as
 * a whole, of many the first pieces of a large file and as many small files as one piece has bytes.
 */
function readBesideGraph(files: readonly Descriptor[], areFew: boolean): ReadonlySet<Descriptor> {
  if (areFew) return new Set(files);
  const begun = new Set(files.filter(isLarge).slice(0, 1));
  let smallBytes = 0;
  for (const file of files) {
    if (isLarge(file) || smallBytes + file.size > PIECE_BYTES) continue;
    smallBytes += file.size;
    begun.add(file);
  }
  return begun;
}

const isLarge = ({ size }: Descriptor) => size > PIECE_BYTES;

type Reading = {
  readonly read: (file: Descriptor) => Promise<Uint8Array<ArrayBuffer>>;
  readonly piecesOf: (file: Descriptor) => Pieces;
};

/** Large weights, and large other files, that are open at a time. One of each is read. */
const OPEN_FILES = 4;

/** Reads large files one after another, since the pieces of several would not fit into memory. The next one is open already. */
function oneAfterAnother(piecesOf: Reading["piecesOf"]): Reading["read"] {
  const queue: Pieces[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return (file) => {
    const at = queue.push(piecesOf(file)) - 1;
    if (at < OPEN_FILES) queue[at]!.open();
    const reading = last.then(() => {
      queue[at + OPEN_FILES - 1]?.open();
      return wholeOf(file.size, queue[at]!);
    });
    last = reading;
    return reading;
  };
}

/** Reads and decodes all files except the scoring graph and its weights. Small files are read at once. */
async function readDecoded(
  manifest: Manifest,
  { read, piecesOf }: Reading,
  onDirectory: (directory: UserDirectory) => void,
): Promise<Decoded> {
  const { catalog, attributes, users, user_values, similarity: similarityFile } = manifest;
  const readLarge = oneAfterAnother(piecesOf);
  const decoded = async <Value>(file: Descriptor | null | undefined, decode: (bytes: Uint8Array) => Value) =>
    file ? decode(await (isLarge(file) ? readLarge(file) : read(file))) : null;
  const readDirectory = async () => {
    const text = users?.directory_base64;
    const given = text === undefined ? undefined : Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
    const directory = given ? decodeUserDirectory(given) : await decoded(users?.directory, decodeUserDirectory);
    if (directory) onDirectory(directory);
    return directory;
  };
  const found = await allOf({
    catalog: decoded(catalog, decodeCatalog) as Promise<Catalog>,
    attributes: decoded(attributes, decodeAttributes),
    directory: readDirectory(),
    userValues: decoded(user_values, decodeUserValues),
    similarity: decoded(similarityFile, decodeSimilarity),
    recentChoices: decoded(manifest.recent_choices, decodeRecentChoices),
    together: decoded(manifest.together, decodeTogether),
    repeatIntervals: decoded(manifest.repeat_intervals, decodeRepeatIntervals),
    itemHours: decoded(manifest.item_hours, decodeItemHours),
    recipe: decoded(manifest.score_recipe, decodeRecipe),
  });
  checkCounts(manifest, found);
  return found;
}

type Decoded = Pick<
  LoadedVersion,
  | "catalog"
  | "attributes"
  | "directory"
  | "userValues"
  | "similarity"
  | "recentChoices"
  | "together"
  | "repeatIntervals"
  | "itemHours"
> & { readonly recipe: StoredRecipe | null };

/** The same names with what they promised, once all is there. */
async function allOf<Promised extends Readonly<Record<string, Promise<unknown>>>>(promised: Promised) {
  const entries = Object.entries(promised).map(async ([name, value]) => [name, await value] as const);
  return Object.fromEntries(await Promise.all(entries)) as { [Name in keyof Promised]: Awaited<Promised[Name]> };
}

/** Undefined unless the runtime keeps the weights as their files have them. */
function fewScorer(
  { model: { weights }, item_count: itemCount }: Manifest,
  recipe: StoredRecipe | null,
  { weightBytes }: Scorer,
): FewScorer | undefined {
  if (!recipe || !weightBytes || !weights.every(({ path }) => weightBytes(path))) return undefined;
  return (histories, items) => fewScores(recipe, { histories, items, itemCount }, weightBytes);
}

function checkCounts(manifest: Manifest, found: Decoded): void {
  const { catalog, attributes, directory, similarity, together } = found;
  const check = (what: string, expected: unknown, actual: unknown) => {
    if (expected !== actual) throw new FormatError(`${what}: the manifest says ${expected}, the file ${actual}`);
  };
  const files = {
    ...{ catalog, attributes, similarity, together, "user directory": directory, "user values": found.userValues },
    "recent choices": found.recentChoices,
    "repeat intervals": found.repeatIntervals,
    "item hours": found.itemHours,
  };
  for (const [what, file] of Object.entries(files))
    if (file) check(`${what}: items`, manifest.item_count, file.itemCount);
  check("catalog: item id type", manifest.item_id_type, catalog.itemIdType);
  if (directory) check("user directory: users", manifest.user_count, directory.userCount);
  if (directory) check("user directory: page files", manifest.users?.pages.length, directory.fileCount);
}

/** Begins to read now. The first call gets what is read, and a later one, after a failure, reads again. */
function begun(pieces: Pieces): () => AsyncIterable<Piece> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = iterator.next();
  first.catch(() => undefined); // thrown to whoever takes it
  let isTaken = false;
  async function* rest() {
    for (let next = await first; !next.done; next = await iterator.next()) yield next.value;
  }
  return () => {
    if (isTaken) return pieces;
    isTaken = true;
    return rest();
  };
}

/** Turns an error of the runtime into a FormatError: the graph is damaged. */
async function opened(scorer: Promise<Scorer>): Promise<Scorer> {
  try {
    return await scorer;
  } catch (cause) {
    if (isUnreadable(cause)) throw cause;
    throw new FormatError(`scoring graph: ${cause instanceof Error ? cause.message.slice(0, 500) : cause}`, { cause });
  }
}

async function checkGolden(scorer: Scorer, golden: GoldenScores, tolerance: number): Promise<void> {
  const scores = await scorer.score({ items: golden.items as ItemIndex[], agesDays: golden.ages_days });
  const largest = Math.max(...golden.scores.map(([, score]) => Math.abs(score)), Number.MIN_VALUE);
  for (const [item, expected] of golden.scores) {
    const found = scores[item] ?? Number.NaN;
    if (!(Math.abs(found - expected) <= tolerance * largest))
      throw new FormatError(`scoring graph: golden score of item ${item}: expected ${expected}, found ${found}`);
  }
  if (scores.buffer instanceof ArrayBuffer) scores.buffer.transfer(0); // freed at once: megabytes for each golden history
}
