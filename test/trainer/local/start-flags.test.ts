import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseCommandLine } from "../../../trainer/command-line.ts";
import { START, startOptions } from "../../../trainer/local/start-flags.ts";

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "flags-"));
  for (const name of ["data.csv", "items.csv"]) await writeFile(join(cwd, name), "a\n");
});
afterAll(() => rm(cwd, { recursive: true }));
const parse = async (line: string) => {
  const given = parseCommandLine(START, line.split(" ").filter(Boolean));
  return given === "help" ? given : await startOptions(given.flags, cwd);
};

test("without flags it uses the demo shop, the default ports and .shortlist in the caller's folder", async () => {
  expect(await parse("")).toEqual({
    files: null,
    model: null,
    edgePort: 8787,
    trainerPort: 8788,
    state: join(cwd, ".shortlist"),
    exit: false,
    simulate: false,
  });
});

test("every flag is parsed", async () => {
  const line =
    "--data data.csv --items items.csv --user-column u --item-column i --time-column t --label-column l " +
    "--positive purchase,cart, --session-column s " +
    "--model films --edge-port 0 --trainer-port 9000 --state /tmp/elsewhere --exit";
  expect(await parse(line)).toEqual({
    files: {
      interactions: join(cwd, "data.csv"),
      items: join(cwd, "items.csv"),
      users: null,
      columns: { user: "u", item: "i", time: "t", label: "l" },
      positive: ["purchase", "cart"],
      session: "s",
    },
    model: "films",
    edgePort: 0,
    trainerPort: 9000,
    state: "/tmp/elsewhere",
    exit: true,
    simulate: false,
  });
});

test("simulated shoppers have a folder of their own, and visit only the demo shop", async () => {
  expect(await parse("--simulate")).toMatchObject({ simulate: true, state: join(cwd, ".shortlist/simulated") });
  expect(await parse("--simulate --state s")).toMatchObject({ simulate: true, state: join(cwd, "s") });
  await expect(parse("--simulate --data data.csv")).rejects.toThrow("--simulate is for the demo shop");
  await expect(parse("--simulate --exit")).rejects.toThrow("goes without --exit");
});

test("--help takes precedence", async () => {
  expect(await parse("--help --data nowhere")).toBe("help");
});

test.each([".", "data[1].csv", "**/*.csv"])("--data %s may be a folder or a pattern", async (data) => {
  expect(await parse(`--data ${data}`)).toMatchObject({ files: { interactions: expect.stringMatching(/^\//) } });
});

test.each([
  ["--colour red", "Unknown option '--colour'"],
  ["now", "Unexpected argument 'now'"],
  ["--data", "argument missing"],
  ["--data nowhere.csv", "there is no file"],
  ["--data nowhere/", "there is no file"],
  ["--data data.csv --items nothing.csv", "--items: there is no file"],
  ["--items items.csv", "needs --data FILE"],
  ["--orders items.csv", "needs --data FILE"],
  ["--data data.csv --orders nothing.csv", "--orders: there is no file"],
  ["--positive view", "needs --data FILE"],
  ["--data data.csv --positive ,", "--positive needs types of events"],
  ["--time-column t", "needs --data FILE"],
  ["--model a/b", "--model must match"],
  ["--edge-port 99999", "--edge-port must be a port"],
  ["--edge-port 80a", "--edge-port must be a port"],
  ["--trainer-port -1", "trainer-port"],
])("%s is refused in one sentence", async (line, expected) => {
  const failure = (await parse(line).catch((error: Error) => error)) as Error;
  expect(failure.name).toBe("UsageError");
  expect(failure.message).toContain(expected);
  expect(failure.message).not.toContain("\n");
});
