/** What all commands have in common: `shortlist`, its help, its exit codes, and how progress is shown. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type CommandLine, helpText, outcomeOf, type Result } from "../../trainer/command-line.ts";
import { ExpectedError, UsageError } from "../../trainer/expected-error.ts";
import { terminalOn } from "../../trainer/terminal.ts";

const shortlist = (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) =>
    execFile(process.execPath, ["trainer/shortlist.ts", ...args], (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    ),
  );

const CAKE = {
  name: "cake",
  does: "bakes a cake",
  forms: [
    ["", "a small one"],
    ["--tiers N", "a high one"],
  ],
  flags: {
    tiers: { type: "string", value: "N", default: "1", help: "layers (1)" },
    json: { type: "boolean", default: false, help: "the recipe as JSON" },
  },
  exitCodes: { 1: "it burnt" },
} as const satisfies CommandLine;
const bake = (args: readonly string[], result: () => Result | number = () => ({ text: "A cake." })) =>
  outcomeOf(CAKE, args, async () => result());

test("the help has one form", () =>
  expect(helpText(CAKE)).toBe(`npm run cake bakes a cake.

  npm run cake               a small one
  npm run cake -- --tiers N  a high one

  --tiers N  layers (1)
  --json     the recipe as JSON
  --help     this text

Exit codes: 0: done; 1: it burnt; 2: wrong arguments or settings.`));

test("a long text is wrapped beside the flags", () => {
  const help = helpText({ ...CAKE, flags: { tiers: { ...CAKE.flags.tiers, help: "layer ".repeat(40).trim() } } });
  const lines = help.split("\n").filter((line) => line.includes("layer layer"));
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(118);
  expect(lines[1]).toMatch(/^ {13}layer/);
});

test("the exit code is 0, 1 for a failure, 2 for wrong arguments, and only bugs show a stack", async () => {
  const fails = (error: Error) =>
    bake([], () => {
      throw error;
    });
  expect(await bake([])).toEqual({ out: "A cake.\n", err: "", exitCode: 0 });
  expect(await bake([], () => 130)).toEqual({ out: "", err: "", exitCode: 130 });
  expect(await fails(new ExpectedError("No eggs."))).toEqual({ out: "", err: "No eggs.\n", exitCode: 1 });
  expect(await fails(new UsageError("No tier 0."))).toEqual({ out: "", err: "No tier 0.\n", exitCode: 2 });
  expect(await fails(new Error("a bug"))).toMatchObject({ err: expect.stringMatching(/a bug\n +at /), exitCode: 1 });
  for (const wrong of [["--size", "3"], ["large"], ["--tiers"]]) {
    const { err, exitCode } = await bake(wrong);
    expect([exitCode, err]).toEqual([2, expect.stringMatching(/^[^\n]+; npm run cake -- --help lists the flags\.\n$/)]);
  }
  expect(await bake(["--help", "--size"])).toMatchObject({ out: `${helpText(CAKE)}\n`, exitCode: 0 });
});

test("--json prints the result as JSON, and a message if there is nothing else", async () => {
  expect((await bake(["--json"])).out).toBe('{"message":"A cake."}\n');
  const burnt = () => ({ text: "Burnt.", json: { cake: null }, exitCode: 1 });
  expect(await bake(["--json"], burnt)).toEqual({ out: '{"cake":null}\n', err: "", exitCode: 1 });
});

test("every command of shortlist is a script of npm and has this help", { timeout: 60_000 }, async () => {
  const { out: usage } = await shortlist("--help");
  const names = [...usage.matchAll(/^ {2}([a-z-]+) {2}/gm)].map(([, name]) => name!);
  expect(names).toEqual(expect.arrayContaining(["start", "setup", "serve", "deploy", "train", "keys", "backup"]));
  const { scripts, bin } = JSON.parse(await readFile("package.json", "utf8"));
  expect(bin).toEqual({ shortlist: "trainer/shortlist.ts" });
  await Promise.all(
    names.map(async (name) => {
      expect(scripts[name]).toBe(`node trainer/shortlist.ts ${name}`);
      const { code, out, err } = await shortlist(name, "--help");
      expect([name, code, err]).toEqual([name, 0, ""]);
      expect(out.startsWith(name === "start" ? "npm start " : `npm run ${name} `)).toBe(true);
      expect(out).toMatch(/\n {2}--help +this text\n(.|\n)*\nExit codes: 0: /);
    }),
  );
});

test("an unknown command is answered with all of them", async () => {
  for (const args of [["sevre"], []])
    expect(await shortlist(...args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining("  serve  ") });
});

test("on a terminal progress takes one line, elsewhere a line each", () => {
  const written = (stream: { isTTY?: boolean; columns?: number }, environment = {}) => {
    let text = "";
    const { print, progress } = terminalOn({ ...stream, write: (part) => (text += part) }, environment);
    for (const line of ["one", "two"]) progress(line);
    for (const line of ["done", "end"]) print(line);
    return text;
  };
  const clear = "\r\x1b[2K";
  expect(written({ isTTY: true })).toBe(`${clear}one${clear}two${clear}done\nend\n`);
  expect(written({ isTTY: true, columns: 3 })).toBe(`${clear}on${clear}tw${clear}done\nend\n`);
  for (const [stream, environment] of [
    [{}, {}],
    [{ isTTY: true }, { TERM: "dumb" }],
    [{ isTTY: true }, { CI: "true" }],
  ] as const)
    expect(written(stream, environment)).toBe("one\ntwo\ndone\nend\n");
});
