/** One release frozen for the tests of the next one: its Worker, what its trainer has published, and the answers of rank calls. */
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { erasureHash } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { addErasedUsers } from "../../trainer/store/erased-list.ts";
import type { EdgeBundle } from "../fixtures/edge-bundle.ts";
import type { EdgeWorld } from "../fixtures/edge-world.ts";

export const RELEASE_FOLDER = new URL("previous-release/", import.meta.url).pathname;
export const WORKER_FILE = `${RELEASE_FOLDER}worker.json.br`;
export const BUCKET_FILE = `${RELEASE_FOLDER}bucket.json.br`;
export const ANSWERS_FILE = `${RELEASE_FOLDER}answers.json`;

/** The Worker without the runtime's .wasm file, which is the installed one. */
export type FrozenWorker = Omit<EdgeBundle, "wasm">;
export type FrozenBucket = { readonly key: string; readonly objects: Readonly<Record<string, string>> };
type Answer = { readonly status: number; readonly strategy: string | null; readonly items: unknown };
export type FrozenAnswers = { readonly runtime: string; readonly answers: readonly Answer[] };

/** The bodies of the rank calls. Bob is erased. */
const CALLS: readonly object[] = [
  { limit: 3 },
  { user_id: "ann" },
  { user_id: "ann", exclude_seen: false, limit: 4 },
  { user_id: "bob" },
  { user_id: "7", interactions: [{ item_id: "i0" }] },
  { interactions: [{ item_id: "i7" }, { item_id: "unknown" }], limit: 4 },
  { user_id: "ann", retrieval: { $and: [{ category: "hats" }, { price: { $gte: 40 } }] } },
];

const SALT = "00112233445566778899aabbccddeeff";

/** Publishes with the trainer's code of this checkout. Gives the API key. */
export async function publishRelease(edge: EdgeWorld): Promise<string> {
  await edge.publish();
  const hashes = [await erasureHash(SALT, "bob" as UserId)];
  await addErasedUsers(edge.store, "acme", { salt: SALT, hashes });
  return (await edge.issueKey({ scopes: ["rank", "manage"] })).key; // a scope of a later release would be refused
}

export async function answersOf(edge: EdgeWorld, key: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const body of CALLS) {
    const answer = await edge.call("/v0/models/shop/rank", { key, body });
    answers.push({
      status: answer.status,
      strategy: answer.headers.get("x-rank-strategy"),
      items: await answer.json(),
    });
  }
  return answers;
}

/** The version of onnxruntime-web, whose script is in the Worker and must fit the installed .wasm file. */
export function installedRuntime(): string {
  const path = new URL("../../node_modules/onnxruntime-web/package.json", import.meta.url).pathname;
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

export const frozen = <Content>(path: string): Content =>
  JSON.parse((path.endsWith(".br") ? brotliDecompressSync(readFileSync(path)) : readFileSync(path)).toString());
