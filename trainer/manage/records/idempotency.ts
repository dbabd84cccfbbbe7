/** Answers to requests with an Idempotency-Key, kept for a day: a repeated request gets the first answer and has no second effect. */
import { createHash } from "node:crypto";
import { Problem } from "../../../shared/problem.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { type Database, isDuplicate, type Queries } from "./database.ts";

export type IdempotentRequest = {
  readonly customer: string;
  /** The Idempotency-Key as sent; null without one. */
  readonly key: string | null;
  readonly body: Uint8Array;
};

export type IdempotentAnswer = { readonly modelName: string; readonly answer: string; readonly isReplay: boolean };

const KEPT_SECONDS = 86_400;
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Performs a request, or returns the stored answer of an earlier one with the same key. `perform` must write its effect, and
 * pass its answer to the given function, in one transaction.
 *
 * @throws Problem idempotency_conflict when the key was used with another body, invalid_parameter for an invalid key.
 */
export async function performOnce(
  database: Database,
  { customer, key, body }: IdempotentRequest,
  perform: (note: (queries: Queries, modelName: string, answer: string) => Promise<void>) => Promise<void>,
): Promise<IdempotentAnswer> {
  if (key !== null && !KEY.test(key))
    throw new Problem(
      "invalid_parameter",
      "The Idempotency-Key must be at most 255 printable ASCII characters without spaces.",
    );
  const digest = createHash("sha256").update(body).digest("hex");
  const earlier = key === null ? undefined : await earlierAnswer(database, customer, key, digest);
  if (earlier !== undefined) return earlier;
  let given: IdempotentAnswer | undefined;
  try {
    await perform(async (queries, modelName, answer) => {
      if (key !== null) {
        await queries.query(`delete from shortlist.idempotency_keys where ${SAME_KEY} and ${EXPIRED}`, [customer, key]);
        await queries.query(INSERT, [customer, key, digest, modelName, answer]);
      }
      given = { modelName, answer, isReplay: false };
    });
  } catch (error) {
    // If two requests use one key at once, the second is rolled back, and the first one's answer is stored.
    const first =
      key !== null && isRepetition(error) ? await earlierAnswer(database, customer, key, digest) : undefined;
    if (first === undefined) throw error;
    return first;
  }
  return given!;
}

/** Forgets the answers about a model, which are wrong once it is being deleted. */
export async function forgetAnswersOf({ customer, modelName }: ModelRef, queries: Queries): Promise<void> {
  await queries.query("delete from shortlist.idempotency_keys where customer = $1 and model_name = $2", [
    customer,
    modelName,
  ]);
}

/** Forgets the answers that are older than a day. */
export async function purgeIdempotencyKeys(database: Database): Promise<void> {
  await database.query(`delete from shortlist.idempotency_keys where ${EXPIRED}`);
}

const SAME_KEY = "customer = $1 and idempotency_key = $2";
const EXPIRED = `created_at < now() - ${KEPT_SECONDS} * interval '1 second'`;
const INSERT = `insert into shortlist.idempotency_keys
  (customer, idempotency_key, request_digest, model_name, answer, created_at) values ($1, $2, $3, $4, $5, now())`;

const isRepetition = (error: unknown) =>
  isDuplicate(error) || (error instanceof Problem && error.code === "model_exists");

async function earlierAnswer(
  database: Database,
  customer: string,
  key: string,
  digest: string,
): Promise<IdempotentAnswer | undefined> {
  const [row] = await database.query(
    `select request_digest, model_name, answer from shortlist.idempotency_keys where ${SAME_KEY} and not ${EXPIRED}`,
    [customer, key],
  );
  if (row === undefined) return undefined;
  if (row.request_digest !== digest)
    throw new Problem("idempotency_conflict", "This Idempotency-Key was used with another body: use a new key.");
  return { modelName: String(row.model_name), answer: String(row.answer), isReplay: true };
}
