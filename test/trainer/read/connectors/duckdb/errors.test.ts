import { expect, test } from "vitest";
import { explainDuckDBError } from "../../../../../trainer/read/connectors/duckdb/errors.ts";
import { StageError } from "../../../../../trainer/stage/stage-error.ts";

const explain = (message: string) =>
  explainDuckDBError(new Error(message), ["/secret/temp", { path: "/secret/shop/a.csv", shownAs: "a.csv" }]);

test.each([
  ["Out of Memory Error: could not allocate block of size 30.5 MiB", "source_out_of_memory"],
  ['IO Error: Could not write file "/secret/temp/x.tmp": No space left on device', "source_out_of_disk"],
  ['Permission Error: Cannot access file "/etc/passwd"', "source_query_refused"],
  ["IO Error: Input is not a GZIP stream: /secret/shop/a.csv", "file_malformed"],
  ['IO Error: Could not read "/secret/shop/a.csv" into "/secret/temp"', "file_malformed"],
  ['Binder Error: Referenced column "x" not found', "source_query_failed"],
  ["Conversion Error: Could not convert string 'a' to INT64", "source_query_failed"],
])("%s becomes %s", (message, code) => {
  const error = explain(message);
  expect(error).toMatchObject({ stage: "fetching", code });
  expect(error.message).not.toContain("/secret");
});

test("the message is the first paragraph, without the repeated query", () => {
  const error = explain(
    'Binder Error: Referenced column "x" not found in FROM clause!\nCandidate bindings: "y"\n\nLINE 1: SELECT x FROM t\n          ^',
  );
  expect(error.message).toBe(
    'The query failed: Binder Error: Referenced column "x" not found in FROM clause! Candidate bindings: "y"',
  );
});

test("a very long message is shortened", () =>
  expect(explain(`Error: ${"x".repeat(10_000)}`).message.length).toBeLessThan(700));

test("a StageError is not changed", () => {
  const own = new StageError("fetching", "file_not_found", "x");
  expect(explainDuckDBError(own, [])).toBe(own);
});

test("the cause is kept for the log", () => {
  const cause = new Error("Binder Error: x");
  expect(explainDuckDBError(cause, []).cause).toBe(cause);
});

test("the error of an undetected delimiter mentions mixed line ends", () =>
  expect(explain("Invalid Input Error: Error when sniffing file").message).toContain("LF or CRLF"));
