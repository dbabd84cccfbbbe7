import { GoogleAuth, Impersonated } from "google-auth-library";
import { StageError } from "../../../stage/stage-error.ts";
import type { ConnectorContext } from "../connector.ts";

const SCOPES = ["https://www.googleapis.com/auth/bigquery", "https://www.googleapis.com/auth/cloud-platform.read-only"];
const TOKEN_SECONDS = 3600;

export type CustomerIdentity = { readonly serviceAccount: string; readonly client: Impersonated };

/**
 * The customer's own service account, impersonated by the trainer's identity. Which account that is comes from the
 * operator's settings for the key's customer, never from the request: otherwise one customer could read with what
 * another has granted (the confused deputy).
 */
export async function customerIdentity({ customer, settings }: ConnectorContext): Promise<CustomerIdentity> {
  const serviceAccount = settings.bigqueryServiceAccount;
  if (serviceAccount === null)
    throw new StageError(
      "fetching",
      "no_service_account",
      `The customer ${JSON.stringify(customer)} has no service account for BigQuery; ask the operator for one`,
    );
  // The trainer's own identity (application default credentials) may only mint tokens.
  const auth = new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/cloud-platform"] });
  const sourceClient = await auth.getClient().catch((cause) => {
    throw new StageError(
      "fetching",
      "no_credentials",
      "The trainer has no Google credentials of its own; the operator must set GOOGLE_APPLICATION_CREDENTIALS",
      { cause },
    );
  });
  const client = new Impersonated({
    sourceClient,
    targetPrincipal: serviceAccount,
    targetScopes: SCOPES,
    delegates: [],
    lifetime: TOKEN_SECONDS,
    ...(settings.bigqueryApiEndpoint && { endpoint: settings.bigqueryApiEndpoint }),
  });
  return { serviceAccount, client };
}
