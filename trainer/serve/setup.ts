/** The program of `npm run setup`: writes the settings of `npm run serve` after a few questions. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { LocalError } from "../local/local-error.ts";
import { newSecret, placesIn, readServeSettings, ServeSettings, writeServeSettings } from "./serve-settings.ts";

const USAGE = `npm run setup prepares a folder for npm run serve. It asks for what no flag gives; --yes asks nothing.

  --dir DIR              folder for settings and all state (.shortlist-service)
  --port N               port of the service (8787)
  --host HOST            address to listen on (127.0.0.1; a proxy with a certificate stands before it)
  --public-url URL       address by which callers reach the service
  --metrics-port N       port of Prometheus metrics (none)
  --data-root FOLDER     folder whose files models may read; may be given several times
  --customer NAME        the first customer (main)
  --s3-endpoint URL --s3-bucket NAME --s3-access-key-id ID --s3-secret-access-key SECRET [--s3-region REGION]
                         a bucket in place of files in DIR
  --yes                  take the defaults without asking
  --help

A second run changes only what it is given. Secrets stay.`;

const text = { type: "string" } as const;
const OPTIONS = {
  dir: { type: "string", default: ".shortlist-service" },
  port: text,
  host: text,
  "public-url": text,
  "metrics-port": text,
  "data-root": { type: "string", multiple: true },
  customer: text,
  "s3-endpoint": text,
  "s3-bucket": text,
  "s3-access-key-id": text,
  "s3-secret-access-key": text,
  "s3-region": text,
  yes: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

type Flags = ReturnType<typeof parse>;

async function main(): Promise<string> {
  const base = process.env.INIT_CWD ?? process.cwd();
  const flags = parse(process.argv.slice(2));
  if (flags.help) return USAGE;
  const dir = resolve(base, flags.dir);
  const isNew = (await stat(placesIn(dir).settings).catch(() => undefined)) === undefined;
  const known = isNew ? undefined : await readServeSettings(dir);
  const given = flags.yes || !process.stdin.isTTY ? flags : await ask(flags, known);
  const settings = settingsOf(given, known, base);
  for (const folder of settings.data_roots)
    if (!(await stat(folder).catch(() => undefined))?.isDirectory())
      throw new LocalError(`There is no folder ${folder}.`);
  await writeServeSettings(dir, settings);
  return `${isNew ? "Wrote" : "Changed"} ${placesIn(dir).settings}. Start the service with: npm run serve -- --dir ${dir}`;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, strict: true }).values;
  } catch (cause) {
    throw new LocalError(`${(cause as Error).message.split(/[.\n]/)[0]}; npm run setup -- --help lists the flags.`, {
      cause,
    });
  }
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
  throw new LocalError(`${path.join(".")}: ${message}; npm run setup -- --help lists the flags.`);
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

try {
  process.stdout.write(`${await main()}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof LocalError ? error.message : ((error as Error).stack ?? error)}\n`);
  process.exitCode = 1;
}
