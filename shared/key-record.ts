import * as z from "zod";

/** A customer's name. It is part of object keys, so only few characters are allowed. */
export const CustomerId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "must match ^[a-z0-9][a-z0-9-]{0,62}$");

export const Scope = z.enum(["rank", "events", "items", "manage"]);
export type Scope = z.infer<typeof Scope>;

/** Whether a key may make the calls of a scope. A key that manages models may change their items, too. */
export const hasScope = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) || (scope === "items" && scopes.includes("manage"));

/** The stored record of an API key, at `keys/{sha256 of the key, hex}.json`. The key itself is not stored. */
export const KeyRecord = z.object({
  format: z.literal(1),
  key_id: z.string().regex(/^[a-z0-9]{8,20}$/),
  customer: CustomerId,
  scopes: z.array(Scope).min(1),
  /** RFC 3339 UTC. */
  created_at: z.string().max(40),
  expires_at: z.string().max(40).nullable(),
  revoked_at: z.string().max(40).nullable(),
  /** The origins whose web pages contain the key. Absent: the key is secret, and any origin may send it. */
  origins: z.array(z.string().max(300)).min(1).max(20).optional(),
  /** The key of the HMACs that user ids must be sent with. Absent: they need none. */
  user_secret: z.string().min(32).max(100).optional(),
});
export type KeyRecord = z.infer<typeof KeyRecord>;

export const keyRecordKey = (sha256Hex: string) => `keys/${sha256Hex}.json`;

/** Whether the key is neither revoked nor expired. */
export const isKeyValid = (record: KeyRecord, nowMs: number): boolean =>
  record.revoked_at === null && (record.expires_at === null || nowMs < Date.parse(record.expires_at));
