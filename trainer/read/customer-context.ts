import type { ModelSpec } from "../../shared/model-spec.ts";
import type { ConnectorSettings } from "../settings.ts";
import { readCustomer } from "../store/key-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { ConnectorContext } from "./connectors/connector.ts";

type ContextParts = {
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly settings: ConnectorSettings;
  readonly store: ObjectStore;
};

/**
 * The settings that a customer's connectors get. The service account for BigQuery comes from the operator's settings, else from
 * the issuing of the customer's key. A request can never choose it.
 */
export async function customerContext({ customer, spec, settings, store }: ContextParts): Promise<ConnectorContext> {
  const usesBigQuery = spec.connector_configs.some(({ type }) => type === "BigQuery");
  if (!usesBigQuery || settings.bigqueryServiceAccount !== null) return { customer, settings };
  const record = await readCustomer(store, customer);
  return { customer, settings: { ...settings, bigqueryServiceAccount: record?.service_account ?? null } };
}
