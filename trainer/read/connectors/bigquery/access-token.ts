/**
 * BigQuery access tokens of customers' service accounts. Only the management process has the identity that may make them. A
 * run's process asks for a token whenever it needs one (run/ask-management.ts).
 */
import * as z from "zod";
import type { ConnectorSettings } from "../../../settings.ts";
import { StageError } from "../../../stage/stage-error.ts";
import { sourceError } from "../source-error.ts";
import { explainBigQueryError } from "./errors.ts";

export type AccessToken = { readonly token: string; readonly expiresMs: number };

/** The answer of the management process: a token, or why there is none. */
export const AccessTokenAnswer = z.union([
  z.object({ kind: z.literal("access_token"), token: z.string(), expiresMs: z.number() }),
  z.object({
    kind: z.literal("access_token"),
    failure: z.object({ stage: z.literal("fetching"), code: z.string(), message: z.string(), retryable: z.boolean() }),
  }),
]);
export type AccessTokenAnswer = z.infer<typeof AccessTokenAnswer>;

export type TokenSettings = Pick<ConnectorSettings, "bigqueryServiceAccount" | "bigqueryApiEndpoint">;

const SCOPES = ["https://www.googleapis.com/auth/bigquery", "https://www.googleapis.com/auth/cloud-platform.read-only"];
const TOKEN_SECONDS = 3600;
const REQUEST_MS_MAX = 30_000;

/**
 * A token of the customer's own service account, which the trainer's identity impersonates. The operator assigns the account to the
 * customer. A request never names it, or one customer could read with the rights of another (the confused deputy problem).
 *
 * @throws StageError
 */
export async function makeAccessToken(settings: TokenSettings): Promise<AccessToken> {
  const { GoogleAuth, Impersonated } = await import("google-auth-library"); // here: a run's process only needs the schemas
  const serviceAccount = settings.bigqueryServiceAccount ?? "";
  const transporterOptions = { timeout: REQUEST_MS_MAX };
  // The trainer's own identity (application default credentials) needs no right but to make tokens of that account.
  const auth = new GoogleAuth({
    scopes: ["https://www.googleapis.com/auth/cloud-platform"],
    clientOptions: { transporterOptions },
  });
  const sourceClient = await auth.getClient().catch((cause) => {
    const message =
      "The trainer has no Google credentials of its own; the operator must set GOOGLE_APPLICATION_CREDENTIALS";
    throw sourceError({ code: "no_credentials", message }, cause);
  });
  const client = new Impersonated({
    sourceClient,
    targetPrincipal: serviceAccount,
    targetScopes: SCOPES,
    delegates: [],
    lifetime: TOKEN_SECONDS,
    transporterOptions,
    ...(settings.bigqueryApiEndpoint && { endpoint: settings.bigqueryApiEndpoint }),
  });
  const { token } = await client.getAccessToken().catch((error) => {
    throw explainBigQueryError(error, { projectId: "", location: "", serviceAccount });
  });
  return { token: token!, expiresMs: client.credentials.expiry_date! };
}

/** Never rejects. */
export async function accessTokenAnswer(settings: TokenSettings): Promise<AccessTokenAnswer> {
  const kind = "access_token";
  try {
    return { kind, ...(await makeAccessToken(settings)) };
  } catch (error) {
    const { code, message, retryable } =
      error instanceof StageError
        ? error
        : { code: "no_credentials", message: "No token can be made.", retryable: true };
    return { kind, failure: { stage: "fetching", code, message, retryable } };
  }
}
