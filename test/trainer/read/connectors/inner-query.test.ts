import fc from "fast-check";
import { expect, test } from "vitest";
import { innerQuery } from "../../../../trainer/read/connectors/inner-query.ts";

test.each([
  ["SELECT * FROM t; -- all", "SELECT * FROM t"],
  ["SELECT * FROM t ;; /* all; of */ ; -- them; 'too'\n ;\n", "SELECT * FROM t"],
  ["SELECT * FROM t -- all", "SELECT * FROM t -- all"],
  ["SELECT '; -- '", "SELECT '; -- '"],
  ["SELECT 'it''s; -- '; -- all", "SELECT 'it''s; -- '"],
  ['SELECT 1 AS "; --"', 'SELECT 1 AS "; --"'],
  ["SELECT 1 /* ; -- */", "SELECT 1 /* ; -- */"],
  ["SELECT 1; SELECT 2; -- two", "SELECT 1; SELECT 2"],
  ["SELECT 1;-- a\r\n-- b\r\n", "SELECT 1"],
  [" ; \n", ""],
  ["", ""],
])("%j → %j", (query, inner) => expect(innerQuery(query)).toBe(inner));

test.each([
  "SELECT E'\\'; -- '",
  "SELECT '''a'; -- '''",
  "SELECT $$; -- $$",
  "SELECT 1 # '\n; -- '",
  "SELECT 1 /* /* */ ; -- */",
  "SELECT 1; -- a\rb",
  "SELECT 'a; -- all",
])("what the languages read differently loses semicolons and white space only: %j", (query) => {
  expect(innerQuery(query)).toBe(query);
  expect(innerQuery(`${query} ; ;\n`)).toBe(query);
});

const inside = fc.stringMatching(/^[a-z;\s*-]{0,9}$/).filter((text) => !text.includes("\r"));
const quoted = fc.tuple(fc.constantFrom("'", '"', "`"), inside).map(([quote, text]) => `${quote}x${text}${quote}`);
const line = inside.map((text) => `--${text.replaceAll("\n", " ")}\n`);
const block = inside.map((text) => `/*${text}*/`).filter((text) => text.indexOf("*/", 2) === text.length - 2);
const token = fc.oneof(quoted, line, block, fc.constantFrom(" ", "\n", ";", "x", "(", "- ", "/ ", "* "));
const ignored = fc.oneof(line, block, fc.constantFrom(" ", "\n", "\t", ";"));

test("whatever stands before the last semicolon stays, whatever stands behind it goes", () =>
  fc.assert(
    fc.property(fc.array(token), fc.array(ignored), (before, behind) => {
      const statement = `SELECT ${before.join("")}x`;
      expect(innerQuery(`${statement} ;${behind.join("")}`)).toBe(statement);
      expect(innerQuery(`${statement} ;${behind.join("")}-- end`)).toBe(statement);
    }),
  ));

test("of any text the beginning is left, which stays as it is", () =>
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("'", '"', "`", ";", "-", "/", "*", "\\", "$", "\n", " ", "x") }),
      (text) => {
        const inner = innerQuery(text);
        expect(text.startsWith(inner)).toBe(true);
        expect(inner).not.toMatch(/[;\s]$/);
        expect(innerQuery(inner)).toBe(inner);
      },
    ),
  ));

test.each([" ", ";", "; ", "-- ;\n", "/**/;", "''", "'", "/*", "-"])("the time is linear, for many of %j", (part) => {
  const start = performance.now();
  innerQuery(`${part.repeat(Math.ceil(65_000 / part.length))}x`);
  expect(performance.now() - start).toBeLessThan(1000); // 16 s when quadratic
});
