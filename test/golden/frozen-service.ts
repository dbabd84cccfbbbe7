/** A service of `npm run serve` frozen for the tests of the next release: its archive, and the tables and rows of its trainer's records. */
import { join } from "node:path";
import { type StartedService, startCommand } from "../fixtures/started-service.ts";
import { RELEASE_FOLDER } from "./release.ts";

const ROOT = join(import.meta.dirname, "../..");

export const SERVICE_FILE = `${RELEASE_FOLDER}service.tgz`;
export const SERVICE_FACTS_FILE = `${RELEASE_FOLDER}service.json`;
export const RECORDS_FILE = `${RELEASE_FOLDER}records.json.br`;

/** What the archive must answer when it is opened. */
export type ServiceFacts = {
  readonly version: string;
  readonly list: readonly string[];
  readonly hidden: string;
  readonly events: number;
};

export type FrozenRecords = {
  /** The steps that made the tables. */
  readonly migrations: readonly (readonly string[])[];
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, string | number | boolean | null>>[]>>;
};

/** Starts a program of trainer/serve. */
export const serveProgram = (name: string, ...args: string[]): StartedService =>
  startCommand([process.execPath, join(ROOT, `trainer/serve/${name}.ts`), ...args], { cwd: ROOT });

export async function runToEnd(name: string, ...args: string[]): Promise<void> {
  const started = serveProgram(name, ...args);
  if ((await started.exited) !== 0) throw new Error(`${name}: ${started.output()}${started.errors()}`);
}

/** A caller of a service by its API key. */
export const callerOf =
  (port: number, key: string) =>
  async (path: string, body?: object, method = body ? "POST" : "GET"): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json().catch(() => undefined) };
  };
