import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { connect } from "../connectors/connect.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "../connectors/connector.ts";

export type OpenConnectors = {
  /** The connector of a configuration, opened at the first call. Its `close` does nothing. */
  readonly open: ConnectorFactory;
  /** Gives the connector to the caller, who has to close it. */
  readonly handOver: ConnectorFactory;
  /** Closes the connectors that were not handed over. */
  close(): Promise<void>;
};

/** Connectors that several readings share, so that a store with transactions gives all of them the same state. */
export function openOnce(factory: ConnectorFactory = connect): OpenConnectors {
  const opened = new Map<ConnectorConfig, Connector>();
  const known = async (config: ConnectorConfig, context: ConnectorContext) =>
    opened.get(config) ?? (await factory(config, context));
  return {
    async open(config, context) {
      const connector = await known(config, context);
      opened.set(config, connector);
      return withoutClose(connector);
    },
    async handOver(config, context) {
      const connector = await known(config, context);
      opened.delete(config);
      return connector;
    },
    // A failure to close a store is no reason to lose the rows that were read.
    close: async () => void (await Promise.allSettled([...opened.values()].map((connector) => connector.close()))),
  };
}

const withoutClose = (connector: Connector): Connector => ({
  ...connector,
  close: async () => undefined,
});
