import { expect, test } from "vitest";
import { MANAGEMENT_BODY_BYTES_MAX } from "../../../../shared/api.ts";
import type { Problem } from "../../../../shared/problem.ts";
import { jsonOf, queryParameters, readBody, requireNoQuery } from "../../../../trainer/manage/http/read-request.ts";

const requestOf = (body: BodyInit | null, headers = {}) =>
  new Request("http://trainer/v0/models", { method: "POST", body, headers, duplex: "half" } as RequestInit);
const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string, type: string | undefined = "application/json") => jsonOf(bytes(text), type);

test("a body of at most the limit is read in full", async () => {
  expect(await readBody(requestOf(null))).toHaveLength(0);
  expect(await readBody(requestOf("abc"))).toEqual(Buffer.from("abc"));
  expect(await readBody(requestOf("x".repeat(MANAGEMENT_BODY_BYTES_MAX)))).toHaveLength(MANAGEMENT_BODY_BYTES_MAX);
});

test("a body over the limit is refused by its content-length, and without one once the limit is passed", async () => {
  await expect(readBody(requestOf("x".repeat(MANAGEMENT_BODY_BYTES_MAX + 1)))).rejects.toMatchObject({
    code: "body_too_large",
  });
  await expect(readBody(requestOf("x", { "content-length": "999999" }))).rejects.toMatchObject({
    code: "body_too_large",
  });
  let pulled = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      pulled++;
      controller.enqueue(new Uint8Array(65_536));
    },
  });
  await expect(readBody(requestOf(endless))).rejects.toMatchObject({ code: "body_too_large" });
  expect(pulled).toBeLessThan(10);
});

test("other media types, invalid JSON and invalid UTF-8 are refused", () => {
  expect(read('{"a": [1]}')).toEqual({ a: [1] });
  expect(read("{}", "application/json; charset=utf-8")).toEqual({});
  for (const type of ["text/plain", "application/jsonx", ""])
    expect(() => read("{}", type)).toThrow(expect.objectContaining({ code: "unsupported_media_type" }));
  expect(() => jsonOf(bytes("{}"), undefined)).toThrow("found none");
  for (const text of ["", "{", "nope"])
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "invalid_json" }));
  expect(() => jsonOf(Uint8Array.of(0x22, 0xff, 0x22), "application/json")).toThrow("not UTF-8");
});

test("the depth of JSON is limited; brackets inside texts do not count", () => {
  expect(() => read(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toThrow("nested deeper than 32 levels");
  expect(() => read(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow("nested deeper");
  expect(read(`${"[".repeat(32)}${"]".repeat(32)}`)).toBeInstanceOf(Array);
  expect(read(JSON.stringify({ a: '[{"\\['.repeat(100) }))).toEqual({ a: '[{"\\['.repeat(100) });
});

const url = (query: string) => `http://trainer.example/v0/models${query}`;
function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    return error as Problem;
  }
  throw new Error("it did not throw");
}

test("query parameters are read by name, also one called __proto__", () => {
  expect(queryParameters(url(""))).toEqual({});
  const sent = queryParameters(url("?dry_run=true&a%2Fb=%C3%A4&__proto__=x"));
  expect(Object.entries(sent)).toEqual([
    ["dry_run", "true"],
    ["a/b", "ä"],
    ["__proto__", "x"],
  ]);
});

test("a query parameter that is sent twice is refused", () => {
  const problem = problemOf(() => queryParameters(url("?a%2Fb=1&c=1&a/b=1&c=1")));
  expect(problem.code).toBe("invalid_parameter");
  expect(problem.errors.map(({ pointer }) => pointer)).toEqual(["/a~1b", "/c"]);
});

test("a call without query parameters names those it was sent, up to a limit", () => {
  expect(requireNoQuery(url("?"))).toBe(undefined);
  const { code, errors } = problemOf(() => requireNoQuery(url("?dry_run=true")));
  expect([code, errors]).toEqual([
    "unknown_field",
    [{ pointer: "/dry_run", code, message: expect.stringContaining("it takes none") }],
  ]);
  const many = Array.from({ length: 1000 }, (_, i) => `${i}${"x".repeat(1000)}=`).join("&");
  expect(JSON.stringify(problemOf(() => requireNoQuery(url(`?${many}`))).errors).length).toBeLessThan(20_000);
});
