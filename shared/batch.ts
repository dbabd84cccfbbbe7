/** Batches: the lists of many users, or the users of some items, as files (`POST /v0/models/{model_name}/batches`). */
import * as z from "zod";
import { RANK_LIMIT_MAX } from "./api.ts";
import { Id } from "./id-schema.ts";
import { prefixOf } from "./manifest.ts";
import { ModelName, Source } from "./model-spec.ts";

export const BATCH_USERS_MAX = 5000;
export const BATCH_ITEMS_MAX = 20;
export const USERS_PER_ITEM_MAX = 100_000;
const LIMIT_DEFAULT = 20;
const USERS_PER_ITEM_DEFAULT = 1000;
/** How long files can be fetched. */
export const FILES_HOURS = 24;

const Users = z
  .union([z.literal("all"), z.array(Id).min(1).max(BATCH_USERS_MAX), z.strictObject({ source: Source })])
  .meta({
    description:
      `"all": all users of the model's data. Or at most ${BATCH_USERS_MAX} ids, or a query whose first column has ids. Users who were ` +
      "erased are left out, and an id that was merged into another one counts as that one.",
    examples: ["all"],
  });
const Format = z
  .enum(["parquet", "csv", "ndjson"])
  .default("parquet")
  .meta({ description: "Rows are user_id, rank, item_id, score; for items: item_id, rank, user_id, score." });

/** The body of `POST …/batches`. */
export const BatchBody = z
  .strictObject({
    users: Users.default("all"),
    limit: z.int().min(1).max(RANK_LIMIT_MAX).default(LIMIT_DEFAULT).meta({ description: "The length of each list." }),
    scenario: ModelName.optional().meta({ description: "A scenario, whose fields shape the lists." }),
    items: z.array(Id).min(1).max(BATCH_ITEMS_MAX).optional().meta({
      description: "Instead of lists: for each of these items, the users who would want it most and have not seen it.",
    }),
    users_per_item: z.int().min(1).max(USERS_PER_ITEM_MAX).default(USERS_PER_ITEM_DEFAULT),
    format: Format,
  })
  .meta({ examples: [{ users: "all", limit: 20, scenario: "home", format: "csv" }] });
export type BatchBody = z.output<typeof BatchBody>;

/** What a batch is and has, as `GET …/batches/{batch_id}` answers. */
export const BatchRecord = z.object({
  batch_id: z.string(),
  state: z.enum(["running", "done", "failed", "stopped"]),
  progress: z.object({ fraction: z.number(), detail: z.string() }).nullable(),
  version: z.string().nullable().meta({ description: "The version that made the lists." }),
  rows: z.int().nullable(),
  users: z.int().nullable(),
  files: z.array(z.object({ url: z.string(), bytes: z.int() })).meta({ description: "The links are valid for a day." }),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
});
export type BatchRecord = z.output<typeof BatchRecord>;

export const batchesPrefix = (customer: string, model: string) => `${prefixOf(customer, model)}batches/`;
export const batchFileKey = (customer: string, model: string, batchId: string, file: string) =>
  `${batchesPrefix(customer, model)}${batchId}/${file}`;

/** The address of a file at an edge, without the origin: whoever has it can fetch the file until it ends. */
export async function batchFilePath(key: string, untilSeconds: number, secret: string): Promise<string> {
  return `/v0/files/${key}?until=${untilSeconds}&signature=${await signBatchFile(key, untilSeconds, secret)}`;
}

/** An HMAC-SHA-256 with the secret that edge and trainer share, in lower-case hex. */
export async function signBatchFile(key: string, untilSeconds: number, secret: string): Promise<string> {
  const text = new TextEncoder();
  const hmac = { name: "HMAC", hash: "SHA-256" } as const;
  const imported = await crypto.subtle.importKey("raw", text.encode(secret), hmac, false, ["sign"]);
  const signed = await crypto.subtle.sign(
    "HMAC",
    imported,
    text.encode(JSON.stringify(["shortlist-file-1", key, untilSeconds])),
  );
  return Array.from(new Uint8Array(signed), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
