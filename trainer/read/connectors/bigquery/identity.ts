import { GoogleAuth, Impersonated } from "google-auth-library";
import type { ConnectorContext } from "../connector.ts";
import { sourceError } from "../source-error.ts";

const SCOPES = ["https://www.googleapis.com/auth/bigquery", "https://www.googleapis.com/auth/cloud-platform.read-only"];
const TOKEN_SECONDS = 3600;

export type CustomerIdentity = { readonly serviceAccount: string; readonly client: Impersonated };

/**
 * The customer's own service account, impersonated by the trainer's identity. The operator assigns the account to the customer.
 * A request never names it, or one customer could read with the rights of another (the confused deputy problem).
 */
export async function customerIdentity({ customer, settings }: ConnectorContext): Promise<CustomerIdentity> {
  const serviceAccount = settings.bigqueryServiceAccount;
  if (serviceAccount === null)
    throw sourceError({
      code: "no_service_account",
      message: `The customer ${JSON.stringify(customer)} has no service account for BigQuery; ask the operator for one`,
    });
  // The trainer's own identity (application default credentials) needs no right but to make tokens of that account.
  const auth = new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/cloud-platform"] });
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
    ...(settings.bigqueryApiEndpoint && { endpoint: settings.bigqueryApiEndpoint }),
  });
  return { serviceAccount, client };
}
