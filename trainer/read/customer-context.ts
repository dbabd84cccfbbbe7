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
 * What a customer's connectors may know. The service account for BigQuery is the one of the operator's settings, else
 * the one that was given when the customer's key was issued: both are the operator's word, and never the request's.
 */
export async function customerContext({ customer, spec, settings, store }: ContextParts): Promise<ConnectorContext> {
  const asksForIt = spec.connector_configs.some(({ type }) => type === "BigQuery");
  if (!asksForIt || settings.bigqueryServiceAccount !== null) return { customer, settings };
  const record = await readCustomer(store, customer);
  return { customer, settings: { ...settings, bigqueryServiceAccount: record?.service_account ?? null } };
}
