import type { ModelSpec } from "../../shared/model-spec.ts";
import type { ConnectorSettings, SentConnectorSettings } from "../settings.ts";
import { readCustomer } from "../store/key-store.ts";
import type { ObjectStore } from "../store/object-store.ts";

type Parts = {
  readonly customer: string;
  readonly spec: ModelSpec;
  readonly settings: ConnectorSettings;
  readonly store: ObjectStore;
};

/**
 * The settings that a run's process gets for its customer's connectors. The service account for BigQuery comes from the operator's
 * settings, or else from the record that was made with the customer's key. A request can never choose it.
 */
export async function customerSettings(parts: Parts): Promise<SentConnectorSettings> {
  const { secret: _, bigqueryToken: __, ...settings } = parts.settings;
  const usesBigQuery = parts.spec.connector_configs.some(({ type }) => type === "BigQuery");
  if (!usesBigQuery || settings.bigqueryServiceAccount !== null) return settings;
  const record = await readCustomer(parts.store, parts.customer);
  return { ...settings, bigqueryServiceAccount: record?.service_account ?? null };
}
