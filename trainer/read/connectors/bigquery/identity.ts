import { OAuth2Client } from "google-auth-library";
import type { ConnectorContext } from "../connector.ts";
import { sourceError } from "../source-error.ts";

export type CustomerIdentity = { readonly serviceAccount: string; readonly client: OAuth2Client };

/** The customer's own service account, by tokens that the management process makes (access-token.ts). */
export function customerIdentity({ customer, settings }: ConnectorContext): CustomerIdentity {
  const { bigqueryServiceAccount: serviceAccount, bigqueryToken } = settings;
  if (serviceAccount === null || bigqueryToken === undefined)
    throw sourceError({
      code: "no_service_account",
      message: `The customer ${JSON.stringify(customer)} has no service account for BigQuery; ask the operator for one`,
    });
  const client = new OAuth2Client();
  client.refreshHandler = async () => {
    const { token, expiresMs } = await bigqueryToken();
    return { access_token: token, expiry_date: expiresMs };
  };
  return { serviceAccount, client };
}
