import { expect, test } from "vitest";
import { errorForLog, problemOf, problemResponse } from "../../edge/problem-response.ts";
import { ReadError } from "../../edge/reading/artifact-reader.ts";
import { FormatError } from "../../shared/assert.ts";
import { PROBLEMS, Problem, type ProblemCode } from "../../shared/problem.ts";

test.each(Object.keys(PROBLEMS) as ProblemCode[])("%s has its status and its code", async (code) => {
  const answer = problemResponse(new Problem(code, "why"), "request-1");
  expect(answer.status).toBe(PROBLEMS[code].status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(await answer.json()).toMatchObject({
    code,
    status: PROBLEMS[code].status,
    detail: "why",
    error: "why",
    request_id: "request-1",
  });
});
test("headers and Retry-After of the problem are sent", () => {
  const problem = new Problem("overloaded", "x", { retryAfterSeconds: 3, headers: { allow: "GET" } });
  const { headers } = problemResponse(problem, "r");
  expect([headers.get("retry-after"), headers.get("allow")]).toEqual(["3", "GET"]);
});
test("an internal error shows the caller nothing, and the log everything", async () => {
  const error = new Error("password=hunter2", { cause: new Error("deeper") });
  const answer = problemResponse(error, "r");
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("hunter2");
  expect(errorForLog(error)).toContain("hunter2");
  expect(errorForLog(error)).toContain("<- Error: deeper");
});
test.each([new FormatError("k: flipped"), new ReadError("k cannot be read")])(
  "%s is unavailable, without its key",
  (error) => {
    const problem = problemOf(error);
    expect(problem).toMatchObject({ code: "artifact_unavailable", retryAfterSeconds: 2 });
    expect(problem.message).not.toContain("k:");
  },
);
test("an endless chain of causes is cut", () => {
  const error = new Error("a");
  error.cause = error;
  expect(errorForLog(error).length).toBeLessThan(5000);
});
