import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { EVALUATE, runEvaluateCommand } from "../../trainer/choose/files/evaluate-command.ts";
import { outcomeOf } from "../../trainer/command-line.ts";
import { plainTerminal } from "../../trainer/terminal.ts";
import { twoTastes } from "../fixtures/two-tastes.ts";

const folder = mkdtempSync(join(tmpdir(), "evaluate-cli-"));
afterAll(() => rm(folder, { recursive: true }));
const spawned = (...args: string[]) =>
  spawnSync(process.execPath, ["trainer/evaluate-cli.ts", ...args], { encoding: "utf8", timeout: 60_000 });
/** The same in this process, which takes a tenth of the time. */
async function run(...args: string[]) {
  let progress = "";
  const terminal = plainTerminal((line) => {
    progress += `${line}\n`;
  });
  const { signal } = new AbortController();
  const { out, err, exitCode } = await outcomeOf(EVALUATE, args, ({ flags }) =>
    runEvaluateCommand(flags, { signal, terminal }),
  );
  return { stdout: out, stderr: progress + err, status: exitCode };
}

const shop = twoTastes({ users: 150, items: 30, perUser: 8 });
const lines = Array.from(shop.items, (item, row) => ({
  row,
  text: `u${Math.floor(row / 8)},${item},${shop.times[row]}`,
}));
const write = (name: string, isIn: (row: number) => boolean) => {
  const path = join(folder, name);
  const body = lines.filter(({ row }) => isIn(row)).map(({ text }) => text);
  writeFileSync(path, ["visitor,sku,when", ...body, ""].join("\n"));
  return path;
};
const files = [
  "--train",
  write("train.csv", (row) => row % 8 < 7),
  "--test",
  write("test.csv", (row) => row % 8 === 7),
];

test("--json prints one object of the promised shape on standard output, all else on standard error", () => {
  const { stdout, stderr, status } = spawned(
    ...files,
    "--time-column",
    "when",
    "--protocol",
    "next-item",
    "--models",
    "popularity,local_ridge",
    "--at",
    "10",
    "--json",
  );
  expect(status, stderr).toBe(0);
  const result = JSON.parse(stdout) as { models: Record<string, unknown>[] } & Record<string, unknown>;
  expect(result).toMatchObject({ protocol: "next-item", users: 150, items: 30 });
  expect(result.models.map(({ name, chosen }) => [name, chosen])).toContainEqual(["local_ridge", true]);
  for (const model of result.models) {
    expect(Object.keys(model)).toEqual(
      expect.arrayContaining(["name", "chosen", "fit_seconds", "peak_mb", "artifact_bytes", "metrics"]),
    );
    expect(Object.keys(model.metrics as object).sort()).toEqual([
      "coverage@10",
      "hr@10",
      "mrr@10",
      "ndcg@10",
      "recall@10",
    ]);
  }
  expect(stderr).toContain("columns: user visitor, item sku, time when");
});
test("without --json there is a table for people", async () => {
  const { stdout, status } = await run(...files, "--models", "popularity", "--at", "5");
  expect(status).toBe(0);
  expect(stdout).toMatch(/model +recall@5 +ndcg@5/);
  expect(stdout).toMatch(/popularity \(chosen\) +0\.\d{4}/);
});
test("a test file without anything to measure gives a warning with the reason", async () => {
  const args = [...files.slice(0, 2), "--test", files[1]!, "--models", "popularity", "--json"];
  const { stdout, stderr, status } = await run(...args);
  expect([status, (JSON.parse(stdout) as { users: number }).users]).toEqual([0, 0]);
  expect(stderr).toContain(
    "warning: Nothing is measured: the 1050 positive rows have items that the user has in the train file",
  );
});
test("--time-column none: rows are in the order of the file", async () => {
  const { stdout, stderr, status } = await run(
    ...files,
    "--time-column",
    "none",
    "--models",
    "popularity,graph_filter",
    "--seconds",
    "1",
  );
  expect([status, stderr]).toEqual([0, expect.stringContaining("time none,")]);
  expect(stdout).toMatch(/^(graph_filter|not measured: graph_filter: )/m);
});
test("--users adds figures of test users without train rows, by attributes and by popularity", async () => {
  const users = join(folder, "people.csv");
  writeFileSync(
    users,
    ["visitor,city", ...Array.from({ length: 160 }, (_, u) => `u${u},${u % 2 ? "Ulm" : "Bonn"}`)].join("\n"),
  );
  const test = join(folder, "newcomers.csv");
  const rows = [11, 13, 15, 17].map((item) => `u151,${item},1700000000`);
  writeFileSync(test, ["visitor,sku,when", ...rows, ""].join("\n"));
  const args = [...files.slice(0, 2), "--test", test, "--models", "popularity", "--at", "10"];
  const { stdout, stderr, status } = await run(...args, "--users", users);
  expect([status, stderr]).toEqual([
    0,
    expect.stringContaining("Users without a history are ranked for by attributes"),
  ]);
  expect(stdout).toMatch(/1 lists of users without a history\. Users without[^\n]*\n {2}by popularity: recall@10 /);
  const json = JSON.parse((await run(...args, "--users", users, "--json")).stdout) as Record<string, unknown>;
  expect(json.users_without_history).toMatchObject({ users: 1, served: true });
  const missing = await run(...args, "--users", join(folder, "nobody.csv"));
  expect([missing.status, missing.stdout]).toEqual([1, ""]);
  expect(missing.stderr).toMatch(/nobody\.csv cannot be read/);
});
test("--items lets methods learn from the attributes of items", async () => {
  const items = join(folder, "catalog.csv");
  writeFileSync(
    items,
    ["sku,aisle", ...Array.from({ length: 60 }, (_, i) => `${i},${i % 2 ? "odd" : "even"}`)].join("\n"),
  );
  const args = [...files, "--models", "attribute_ridge", "--at", "10", "--seconds", "60"];
  expect((await run(...args)).stdout).toMatch(/^not measured: attribute_ridge: /m);
  const { stdout, status } = await run(...args, "--items", items);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^attribute_ridge /m)]);
  const missing = await run(...args, "--items", join(folder, "nothing.csv"));
  expect([missing.status, missing.stdout, missing.stderr]).toEqual([
    1,
    "",
    expect.stringMatching(/nothing\.csv cannot be read/),
  ]);
});
test("--help explains, with status 0", async () => {
  const { stdout, status } = await run("--help");
  expect([status, stdout.includes("--protocol set|next-item|sessions")]).toEqual([0, true]);
});
test.each([
  [["--test", "x.csv"], "--train and --test are needed"],
  [["--train", "x.csv", "--test", "x.csv", "--positive", "buy"], "--positive needs --label-column"],
  [[...files, "--models", "toString"], '"toString" is not auto, all or one of popularity'],
  [[...files, "--at", "10,0"], '--at: "0" is not a whole number from 1 to 500'],
  [[...files, "--sort"], "Unknown option '--sort'"],
  [["--train", "none.csv", "--test", "none.csv"], "none.csv cannot be read"],
])("%j: one clear sentence, no stack", async (args, sentence) => {
  const { stdout, stderr, status } = await run(...args);
  expect([status, stdout]).toEqual([sentence.includes("read") ? 1 : 2, ""]);
  expect(stderr).toContain(sentence);
  expect(stderr).not.toMatch(/\n\s+at /);
});
test("as a program, it ends with status 2 and that sentence alone", () => {
  const { stdout, stderr, status } = spawned(...files, "--at", "ten");
  expect([status, stdout, stderr]).toEqual([2, "", '--at: "ten" is not a whole number from 1 to 500.\n']);
});
test("--scenario adds the figures with and without it, and a plot of NDCG against coverage", async () => {
  const [scenario, items, wrong] = ["home.json", "goods.csv", "wrong.json"].map((name) => join(folder, name));
  writeFileSync(scenario!, JSON.stringify({ limit: 5, retrieval: { sku: { $nin: ["7"] }, colour: "red" } }));
  writeFileSync(items!, ["sku,shelf", ...Array.from({ length: 30 }, (_, i) => `${i},s${i % 3}`)].join("\n"));
  const args = [...files, "--models", "popularity", "--scenario", scenario!];
  const { stdout, stderr, status } = await run(...args, "--items", items!);
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/Scenario: 150 lists of 5 items for 150 users/);
  expect(stdout).toMatch(/left out: \/retrieval\/colour is not an attribute/);
  expect(stdout).toMatch(/coverage@5 +0\.\d{4} \[/);
  expect(stdout).toMatch(/NDCG@5 \(up\) against coverage@5/);
  expect(stdout).toMatch(/^1\.0 +0\.\d{4} \[/m);
  const json = JSON.parse((await run(...args, "--json")).stdout) as { scenario: { curve: unknown[]; limit: number } };
  expect(json.scenario).toMatchObject({ limit: 5, curve: [], left_out: [expect.any(String)] });
  writeFileSync(wrong!, JSON.stringify({ limits: 5 }));
  const refused = await run(...files, "--scenario", wrong!);
  expect([refused.status, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toMatch(/^--scenario: .*wrong\.json: \/limits is not a field of this call/);
});
