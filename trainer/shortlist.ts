#!/usr/bin/env node
/** The program `shortlist`: starts the program of a command, with what that command needs of Node. */
import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { columns } from "./command-line.ts";

type Command = {
  readonly does: string;
  readonly program: string;
  /** The variables of the trainer, also those of `.env`; or its records too, which may be in an embedded database. */
  readonly uses?: "variables" | "records";
  /** Whether the program has several commands, and is given the name of this one. */
  readonly isNamed?: boolean;
};

const COMMANDS: Readonly<Record<string, Command>> = {
  start: { does: "the whole service on this machine, to try it with a demo shop or your data", program: "local/start" },
  setup: { does: "writes the settings of serve", program: "serve/setup" },
  serve: { does: "the whole service in production on one machine", program: "serve/serve" },
  deploy: { does: "the edge into your Cloudflare account", program: "deploy/deploy-cli" },
  train: {
    does: "the trainer alone, for an edge at Cloudflare or as a scheduled job",
    program: "main",
    uses: "records",
  },
  keys: { does: "issues, lists and revokes API keys", program: "keys/keys-cli", uses: "variables" },
  backup: {
    does: "saves a service or a trainer's records",
    program: "serve/backup-cli",
    uses: "records",
    isNamed: true,
  },
  restore: { does: "restores what backup has saved", program: "serve/backup-cli", uses: "records", isNamed: true },
  doctor: { does: "says what is wrong with a service, and what to do", program: "serve/doctor", uses: "variables" },
  slim: { does: "deletes what this machine does not need of the installed packages", program: "slim-cli" },
  evaluate: { does: "measures how well models rank the rows of two files", program: "evaluate-cli" },
  "event-shards": { does: "how many shards hold a customer's events", program: "event-shards-cli", uses: "variables" },
  "prune-erased": {
    ...{ does: "shortens a customer's list of erased users", program: "manage/prune-erased-cli" },
    uses: "records",
  },
  bench: { does: "measures the code of this checkout", program: "../test/bench/run" },
};

const USAGE = `shortlist COMMAND [arguments], or npm run COMMAND -- [arguments]

${columns(Object.entries(COMMANDS).map(([name, { does }]) => [name, does]))}

Each command has --help. Exit codes: 0: done; 1: it failed; 2: wrong arguments or settings.
NO_COLOR turns colours off. Progress takes one line on a terminal, and a line each elsewhere.
`;

const [name = "", ...args] = process.argv.slice(2);
if (["--help", "-h", "help"].includes(name)) process.stdout.write(USAGE);
else if (!Object.hasOwn(COMMANDS, name)) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  const { program, uses, isNamed } = COMMANDS[name]!;
  if (uses && existsSync(".env")) process.loadEnvFile(".env");
  if (uses === "records") setFlagsFromString("--liftoff-only"); // half of the time and memory to compile the database
  process.argv.splice(2, 1 + args.length, ...(isNamed ? [name] : []), ...args);
  await import(new URL(`${program}.ts`, import.meta.url).href);
}
