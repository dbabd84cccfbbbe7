import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "./connector.ts";
import { CONNECTOR_TYPES, type ConnectorType } from "./connector-config.ts";

/** Every kind of store, by the `type` of its configuration; loaded when one is opened, since Google's clients take half a second. */
const FACTORIES: Readonly<Record<ConnectorType, () => Promise<ConnectorFactory>>> = {
  BigQuery: async () => (await import("./bigquery/bigquery.ts")).connectBigQuery,
  File: async () => (await import("./file/file.ts")).connectFile,
  Postgres: async () => (await import("./postgres/postgres.ts")).connectPostgres,
};

/** The connector that a configuration describes. Throws StageError `unknown_connector_type`. */
export async function connect(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  if (!Object.hasOwn(FACTORIES, config.type))
    throw new StageError(
      "fetching",
      "unknown_connector_type",
      `There is no connector of type ${JSON.stringify(config.type)}; the types are ${CONNECTOR_TYPES.join(", ")}${didYouMean(config.type, CONNECTOR_TYPES)}`,
    );
  const open = await FACTORIES[config.type as ConnectorType]();
  return await open(config, context);
}
