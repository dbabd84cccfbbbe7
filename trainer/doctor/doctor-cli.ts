/** The program of `npm run doctor`. Exit code 0: no fault; 1: a fault; 2: wrong usage. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { LocalError } from "../local/local-error.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { SettingsError } from "../settings.ts";
import { ageChecks } from "./age-checks.ts";
import { type Finding, fault, runChecks } from "./check.ts";
import { machineChecks } from "./machine-checks.ts";
import { serviceChecks } from "./service-checks.ts";
import { serviceIn, trainerOf } from "./subject.ts";

const USAGE = `npm run doctor examines the service and says what to do about each finding.

  npm run doctor -- --dir DIR    a service of npm run serve
  npm run doctor                 a trainer and its edge at Cloudflare, by the trainer's variables
  --json                         prints the findings as an array

Exit code 0: no fault (warnings may be there); 1: a fault; 2: wrong usage.`;

async function main(args: string[]): Promise<number> {
  let given: { dir?: string; json: boolean; help: boolean };
  try {
    const flag = { type: "boolean", default: false } as const;
    given = parseArgs({ args, options: { dir: { type: "string" }, json: flag, help: flag }, strict: true }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    return 2;
  }
  if (given.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  reachThisMachine(process.env);
  const findings = await examine(given.dir);
  process.stdout.write(given.json ? `${JSON.stringify(findings, null, 2)}\n` : textOf(findings));
  return findings.some(({ state }) => state === "fault") ? 1 : 0;
}

async function examine(dir: string | undefined): Promise<Finding[]> {
  try {
    const from = process.env.INIT_CWD ?? process.cwd();
    const subject = dir === undefined ? trainerOf(process.env) : await serviceIn(resolve(from, dir));
    return await runChecks([...machineChecks(subject), ...serviceChecks(subject), ...ageChecks(subject, Date.now())]);
  } catch (error) {
    if (!(error instanceof LocalError || error instanceof SettingsError)) throw error;
    const remedy = "Correct the settings. Of a service of npm run serve, give the folder: npm run doctor -- --dir DIR.";
    return [{ name: "settings", ...fault(error.message, remedy) }];
  }
}

const LABELS = { ok: "ok     ", warning: "WARNING", fault: "FAULT  " };

const textOf = (findings: readonly Finding[]) =>
  findings
    .map(
      ({ name, state, finding, remedy }) =>
        `${LABELS[state]} ${name}: ${finding}\n${remedy && `        → ${remedy}\n`}`,
    )
    .join("");

process.exitCode = await main(process.argv.slice(2));
