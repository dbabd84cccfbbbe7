import { expect, test } from "vitest";
import { parseBenchArguments } from "./bench-arguments.ts";

const KNOWN = ["edge", "training", "scale"];
const parse = (line: string) => parseBenchArguments(line.split(" ").filter(Boolean), KNOWN);
const run = (more: object) => ({ kind: "run", names: KNOWN, json: false, flags: new Map(), ...more });

test.each([
  ["", {}],
  ["--json", { json: true }],
  ["edge --json", { names: ["edge"], json: true }],
  ["--json edge", { names: ["edge"], json: true }],
  ["training edge training", { names: ["training", "edge"] }],
  ["scale --rows 100e6", { names: ["scale"], flags: new Map([["rows", "100e6"]]) }],
  ["--rows 1e6 scale --json", { names: ["scale"], json: true, flags: new Map([["rows", "1e6"]]) }],
  [
    "edge --key rk_1 --quick scale",
    {
      names: ["edge", "scale"],
      flags: new Map([
        ["key", "rk_1"],
        ["quick", ""],
      ]),
    },
  ],
  ["--rows=5 scale", { names: ["scale"], flags: new Map([["rows", "5"]]) }],
])("%j", (line, expected) => expect(parse(line)).toEqual(run(expected)));

test("an unknown name is answered with the existing ones", () => {
  const parsed = parse("egde");
  expect(parsed).toEqual({ kind: "message", text: expect.stringContaining("edge, training, scale"), isFault: true });
});

test("help names the benches, and says what runs without a name", () => {
  const text = expect.stringMatching(/all of them run.*edge, training, scale/s);
  expect(parse("--help")).toEqual({ kind: "message", text, isFault: false });
});
