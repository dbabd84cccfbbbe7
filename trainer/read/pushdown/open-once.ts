import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { connect } from "../connectors/connect.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "../connectors/connector.ts";

export type OpenConnectors = {
  /** The connector of a configuration, opened when it is first asked for; its own `close` does nothing. */
  readonly open: ConnectorFactory;
  /** The same, from now on the caller's alone, who closes it. */
  readonly handOver: ConnectorFactory;
  /** Closes all. */
  close(): Promise<void>;
};

/** Connectors that several readings share, so that they see one state of a store that can hold one. */
export function openOnce(factory: ConnectorFactory = connect): OpenConnectors {
  const opened = new Map<ConnectorConfig, Connector>();
  const known = async (config: ConnectorConfig, context: ConnectorContext) =>
    opened.get(config) ?? (await factory(config, context));
  return {
    async open(config, context) {
      const connector = await known(config, context);
      opened.set(config, connector);
      return lent(connector);
    },
    async handOver(config, context) {
      const connector = await known(config, context);
      opened.delete(config);
      return connector;
    },
    // What was read is read: that a store could not be left in good order is no reason to lose it.
    close: async () => void (await Promise.allSettled([...opened.values()].map((connector) => connector.close()))),
  };
}

const lent = (connector: Connector): Connector => ({
  ...connector, // also what only some kinds of store can
  close: async () => undefined,
});
