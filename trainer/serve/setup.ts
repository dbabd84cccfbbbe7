/** The program of `npm run setup`: writes the settings of `npm run serve` after a few questions. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type CommandLine, callOf, type Given, type Result, runCommand } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { newSecret, placesIn, readServeSettings, ServeSettings, writeServeSettings } from "./serve-settings.ts";

const text = { type: "string" } as const;
const SETUP = {
  name: "setup",
  does: "prepares a folder for npm run serve. It asks for what no flag gives",
  forms: [
    ["", "asks for the ports and the folders of data"],
    ["--yes --dir DIR", "asks nothing"],
  ],
  flags: {
    dir: {
      ...{ ...text, value: "DIR", default: ".shortlist-service" },
      help: "folder for settings and all state (.shortlist-service)",
    },
    port: { ...text, value: "N", help: "port of the service (8787)" },
    host: {
      ...{ ...text, value: "HOST" },
      help: "address to listen on (127.0.0.1; a proxy with a certificate stands before it)",
    },
    "public-url": { ...text, value: "URL", help: "address by which callers reach the service" },
    "metrics-port": { ...text, value: "N", help: "port of Prometheus metrics (none)" },
    "data-root": {
      ...{ ...text, multiple: true, value: "FOLDER" },
      help: "folder whose files models may read; may be given several times",
    },
    customer: { ...text, value: "NAME", help: "the first customer (main)" },
    "s3-endpoint": { ...text, value: "URL", help: "a bucket in place of files in DIR; with the next three flags" },
    "s3-bucket": { ...text, value: "NAME", help: "its name" },
    "s3-access-key-id": { ...text, value: "ID", help: "who uses it" },
    "s3-secret-access-key": { ...text, value: "SECRET", help: "the secret of that id" },
    "s3-region": { ...text, value: "REGION", help: "its region (auto)" },
    yes: { type: "boolean", default: false, help: "take the defaults without asking" },
    json: { type: "boolean", default: false, help: "print the folder and the ports as JSON" },
  },
  notes: "A second run changes only what it is given. Secrets stay.",
} as const satisfies CommandLine;

type Flags = Given<typeof SETUP.flags>["flags"];

async function setUp(flags: Flags): Promise<Result> {
  const base = process.env.INIT_CWD ?? process.cwd();
  const dir = resolve(base, flags.dir);
  const path = placesIn(dir).settings;
  const isNew = (await stat(path).catch(() => undefined)) === undefined;
  const known = isNew ? undefined : await readServeSettings(dir);
  const given = flags.yes || !process.stdin.isTTY ? flags : await ask(flags, known);
  const settings = settingsOf(given, known, base);
  for (const folder of settings.data_roots)
    if (!(await stat(folder).catch(() => undefined))?.isDirectory())
      throw new UsageError(`There is no folder ${folder}.`);
  await writeServeSettings(dir, settings);
  const { port, metrics_port } = settings;
  return {
    text: `${isNew ? "Wrote" : "Changed"} ${path}. Start the service with: npm run serve -- --dir ${dir}`,
    json: { dir, settings: path, port, metrics_port },
  };
}

/** Asks on the terminal for what no flag gives. */
async function ask(flags: Flags, known: ServeSettings | undefined): Promise<Flags> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const question = async (words: string, byDefault: string) =>
    (await terminal.question(`${words} [${byDefault}]: `)).trim() || byDefault;
  try {
    const port = flags.port ?? (await question("Port of the service", String(known?.port ?? 8787)));
    const folders = known?.data_roots.join(" ") || "none";
    const roots = flags["data-root"] ?? [await question("Folder whose files models may read", folders)];
    const metrics =
      flags["metrics-port"] ?? (await question("Port of Prometheus metrics", String(known?.metrics_port ?? "none")));
    return {
      ...flags,
      port,
      "data-root": roots.flatMap((root) => (root === "none" ? [] : root.split(" "))),
      ...(metrics === "none" ? {} : { "metrics-port": metrics }),
    };
  } finally {
    terminal.close();
  }
}

function settingsOf(flags: Flags, known: ServeSettings | undefined, base: string): ServeSettings {
  const number = (name: "port" | "metrics-port") => (flags[name] === undefined ? undefined : Number(flags[name]));
  const wanted = {
    format: 1,
    port: 8787,
    forward_secret: newSecret(),
    internal_secret: newSecret(),
    ...known,
    ...defined({
      port: number("port"),
      metrics_port: number("metrics-port"),
      host: flags.host,
      public_url: flags["public-url"],
      customer: flags.customer,
      data_roots: flags["data-root"]?.map((folder) => resolve(base, folder)),
      objects: objectsOf(flags),
    }),
  };
  const parsed = ServeSettings.safeParse(wanted);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new UsageError(`${path.join(".")}: ${message}; ${callOf("setup", "--help")} lists the flags.`);
}

function objectsOf(flags: Flags) {
  if (flags["s3-endpoint"] === undefined) return undefined;
  return {
    kind: "s3",
    ...defined({
      endpoint: flags["s3-endpoint"],
      bucket: flags["s3-bucket"],
      access_key_id: flags["s3-access-key-id"],
      secret_access_key: flags["s3-secret-access-key"],
      region: flags["s3-region"],
    }),
  };
}

const defined = (values: object) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

await runCommand(SETUP, ({ flags }) => setUp(flags));
