import { expect, test } from "vitest";
import type { Problem } from "../../../../shared/problem.ts";
import { queryParameters, requireNoQuery } from "../../../../trainer/manage/http/query-parameters.ts";

const url = (query: string) => `http://trainer.example/v0/models${query}`;
function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    return error as Problem;
  }
  throw new Error("it was let through");
}

test("parameters are told by name, one that has a name of the language too", () => {
  expect(queryParameters(url(""))).toEqual({});
  const sent = queryParameters(url("?dry_run=true&a%2Fb=%C3%A4&__proto__=x"));
  expect(Object.entries(sent)).toEqual([
    ["dry_run", "true"],
    ["a/b", "ä"],
    ["__proto__", "x"],
  ]);
});

test("one that is sent twice is refused, whatever it says", () => {
  const problem = problemOf(() => queryParameters(url("?a%2Fb=1&c=1&a/b=1&c=1")));
  expect(problem.code).toBe("invalid_parameter");
  expect(problem.errors.map(({ pointer }) => pointer)).toEqual(["/a~1b", "/c"]);
});

test("a call that takes none is told what it was sent, within bounds", () => {
  expect(requireNoQuery(url("?"))).toBe(undefined);
  const { code, errors } = problemOf(() => requireNoQuery(url("?dry_run=true")));
  expect([code, errors]).toEqual([
    "unknown_field",
    [{ pointer: "/dry_run", code, message: expect.stringContaining("it takes none") }],
  ]);
  const many = Array.from({ length: 1000 }, (_, i) => `${i}${"x".repeat(1000)}=`).join("&");
  expect(JSON.stringify(problemOf(() => requireNoQuery(url(`?${many}`))).errors).length).toBeLessThan(20_000);
});
