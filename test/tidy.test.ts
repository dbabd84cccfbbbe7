import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { circles, untidy } from "./tidy.ts";

const files = ["shared", "edge", "trainer", "test"].flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ path: `${room}/${name}`, text: readFileSync(`${room}/${name}`, "utf8") }))
    .filter(({ path }) => path !== "test/tidy.ts" && path !== "test/tidy.test.ts"),
);

test("the repository follows its rules", () => expect(untidy(files)).toEqual([]));

test("every package of the lock file has an integrity hash on every platform", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { integrity?: string; resolved?: string }>;
  };
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  expect(installed.length).toBeGreaterThan(100);
  expect(installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path)).toEqual([]);
});

test("imports have no cycles", () => {
  expect(circles(files)).toEqual([]);
  const circle = [
    ["edge/a.ts", 'import { b } from "./b.ts";'],
    ["edge/b.ts", 'import { c } from "./c.ts";'],
    ["edge/c.ts", 'import type { A } from "./a.ts";\nimport { d } from "./d.ts";'],
    ["edge/d.ts", ""],
  ] as const;
  expect(circles(circle.map(([path, text]) => ({ path, text })))).toEqual([
    "edge/a.ts → edge/b.ts → edge/c.ts → edge/a.ts",
  ]);
});

test.each([
  ["edge/rank.ts", 'import { fit } from "../trainer/fit.ts";', "edge/ may not import trainer/fit.ts"],
  [
    "trainer/read/rows.ts",
    'import { fit } from "../learn/fit.ts";',
    "trainer/read may not import trainer/learn/fit.ts",
  ],
  ["shared/bloom.ts", "const seed = Math.random();", "no I/O, clock or chance"],
  ["shared/api.ts", 'import { Hono } from "hono";', "imports only zod"],
  ["edge/env.ts", "const key = process.env.KEY;", "no Node APIs"],
  ["edge/utils.ts", "", "says nothing"],
  ["edge/index.ts", 'export * from "./rank.ts";', "no barrels"],
  ["edge/app.ts", "\n".repeat(500), "longer than 400"],
  ["edge/app.ts", "x".repeat(200), "over 140 columns"],
])("%s is caught", (path, text, reason) => expect(untidy([{ path, text }]).join()).toContain(reason));
