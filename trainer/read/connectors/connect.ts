import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "./connector.ts";
import { CONNECTOR_TYPES, type ConnectorType } from "./connector-config.ts";
import { sourceError } from "./source-error.ts";

/** How each type of store is opened. Loaded on demand, because Google's clients take half a second to load. */
const FACTORIES: Readonly<Record<ConnectorType, () => Promise<ConnectorFactory>>> = {
  BigQuery: async () => (await import("./bigquery/bigquery.ts")).connectBigQuery,
  Events: async () => (await import("./events/events.ts")).connectEvents,
  File: async () => (await import("./file/file.ts")).connectFile,
  Postgres: async () => (await import("./postgres/postgres.ts")).connectPostgres,
};

/** The connector that a configuration describes. Throws StageError `unknown_connector_type`. */
export async function connect(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  if (!Object.hasOwn(FACTORIES, config.type))
    throw sourceError({
      code: "unknown_connector_type",
      message: `There is no connector of type ${JSON.stringify(config.type)}; the types are ${CONNECTOR_TYPES.join(", ")}${didYouMean(config.type, CONNECTOR_TYPES)}`,
    });
  const open = await FACTORIES[config.type as ConnectorType]();
  return await open(config, context);
}
