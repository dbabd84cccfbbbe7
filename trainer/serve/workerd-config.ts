/** The configuration of workerd (workerd.capnp): one process with the Worker on a socket of loopback. */
import { relative } from "node:path";
import type { WorkerBundle } from "./worker-bundle.ts";

export type WorkerdOptions = {
  /** The folder of the configuration. Files are embedded by paths that are relative to it. */
  readonly folder: string;
  readonly bundle: WorkerBundle;
  readonly port: number;
  /** The folder of the Durable Objects; null in a process that has none. */
  readonly durable: string | null;
  /** Variables of the Worker, which replace those of wrangler.toml. */
  readonly variables: Readonly<Record<string, string | number | boolean>>;
  /** Variables that workerd reads from its own environment, so that no secret is in a file. */
  readonly secrets: readonly string[];
};

/** Durable Objects of the Worker: the binding and the class. The class's name is part of the names of files, so it never changes. */
const CLASSES = [
  { binding: "EVENTS", className: "EventShard" },
  { binding: "ITEMS", className: "LiveCatalog" },
];

/** Text in Cap'n Proto's schema language, whose escapes are those of JSON for these characters. */
const text = (value: string) => JSON.stringify(value);

export function workerdConfig({ folder, bundle, port, durable, variables, secrets }: WorkerdOptions): string {
  const bound = Object.entries({ ...bundle.vars, ...variables }).map(
    ([name, value]) => `(name = ${text(name)}, json = ${text(JSON.stringify(value))})`,
  );
  const fromEnvironment = secrets.map((name) => `(name = ${text(name)}, fromEnvironment = ${text(name)})`);
  const namespaces = CLASSES.map(
    ({ binding, className }) => `(name = ${text(binding)}, durableObjectNamespace = ${text(className)})`,
  );
  const classes = CLASSES.map(
    ({ className }) =>
      `(className = ${text(className)}, uniqueKey = ${text(`shortlist-${className}`)}, enableSql = true)`,
  );
  const objects = `
  durableObjectNamespaces = [${classes.join(", ")}],
  durableObjectStorage = (localDisk = "durable"),`;
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "network", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),${
      durable === null ? "" : `\n    (name = "durable", disk = (path = ${text(durable)}, writable = true)),`
    }
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed ${text(relative(folder, bundle.script))}),
    (name = ${text(bundle.wasm.name)}, wasm = embed ${text(relative(folder, bundle.wasm.path))}),
  ],
  compatibilityDate = ${text(bundle.compatibility_date)},
  compatibilityFlags = [${bundle.compatibility_flags.map(text).join(", ")}],
  globalOutbound = "network",${durable === null ? "" : objects}
  bindings = [
    ${[...bound, ...fromEnvironment, ...(durable === null ? [] : namespaces)].join(",\n    ")}
  ],
);
`;
}
