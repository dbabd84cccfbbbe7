import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandOf, endService, isAlive, type StartedService, startService } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

const TIMEOUT = 240_000;
let directory: string;
let service: StartedService | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "start-faults-"));
  await putDatabase(join(directory, "state/trainer"));
});
afterEach(async () => {
  await endService(service);
  await rm(directory, { recursive: true, force: true });
});
/** Calls to this machine must go past the proxy of a company. */
const DEAD_PROXY = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:9", no_proxy: "" };
const start = (...args: string[]) => {
  service = startService(["--state", join(directory, "state"), ...args], {
    SHORTLIST_FIT_SECONDS: "1",
    ...DEAD_PROXY,
  });
  return service;
};
async function csv(name: string, rows: readonly string[]): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, rows.join("\n"));
  return path;
}
/** Every user likes a third of 30 items. */
const tastes = (label: string) =>
  Array.from({ length: 200 }, (_, user) =>
    Array.from(
      { length: 6 },
      (_, i) => `u${user},${((user % 3) + 3 * ((user * 7 + i * 5) % 10)) % 30},${1e9 + user * 100 + i},${label}`,
    ),
  ).flat();
const HEADER = "user_id,item_id,created_at,label";

/** Expects the exit code, this one sentence, and no process left. */
async function fails(started: StartedService, sentence: RegExp, code = 1): Promise<void> {
  expect(await started.exited).toBe(code);
  const lines = started.errors().trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(sentence);
  expect(started.descendants()).toEqual([]);
}

test("a missing file, an unknown flag and a missing column are each refused in one sentence", async () => {
  await fails(start("--data", join(directory, "nothing.csv")), /^--data: there is no file .*nothing\.csv\.$/, 2);
  await fails(start("--colour"), /^Unknown option '--colour'/, 2);
  const data = await csv("events.csv", [HEADER, ...tastes("1")]);
  await fails(
    start("--data", data, "--user-column", "who"),
    /^There is no column "who" for the user; The columns are "user_id"/,
  );
});

test("a trainer killed during training is reported, leaves no process, and the next start finishes the run", {
  timeout: TIMEOUT,
}, async () => {
  const data = await csv("events.csv", [HEADER, ...tastes("1")]);
  const first = start("--data", data, "--model", "killed");
  await first.printed("Creating the model");
  await first.printed("fetching");
  const started = first.descendants();
  const trainer = started.find((pid) => commandOf(pid).includes("trainer/main.ts"))!;
  process.kill(trainer, "SIGKILL");
  await fails(first, /^The trainer stopped unexpectedly \(SIGKILL\)/);
  while (started.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 50)); // the run's process exits by itself

  const second = start("--data", data, "--model", "killed", "--exit");
  expect(await second.exited).toBe(0);
  expect(second.output()).toMatch(/^curl -s/m);
  expect(JSON.parse(await readFile(join(directory, "state/local.json"), "utf8"))).toMatchObject({
    model_name: "killed",
  });
});
