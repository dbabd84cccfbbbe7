import { expect, test } from "vitest";
import { MANAGEMENT_BODY_BYTES_MAX } from "../../../../shared/api.ts";
import { jsonOf, readBody } from "../../../../trainer/manage/http/request-body.ts";

const requestOf = (body: BodyInit | null, headers = {}) =>
  new Request("http://trainer/v0/models", { method: "POST", body, headers, duplex: "half" } as RequestInit);
const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string, type: string | undefined = "application/json") => jsonOf(bytes(text), type);

test("a body is read to the byte, up to the limit", async () => {
  expect(await readBody(requestOf(null))).toHaveLength(0);
  expect(await readBody(requestOf("abc"))).toEqual(Buffer.from("abc"));
  expect(await readBody(requestOf("x".repeat(MANAGEMENT_BODY_BYTES_MAX)))).toHaveLength(MANAGEMENT_BODY_BYTES_MAX);
});

test("a body that is too large is refused by its announced length, and without one as soon as it is", async () => {
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

test("only JSON is JSON", () => {
  expect(read('{"a": [1]}')).toEqual({ a: [1] });
  expect(read("{}", "application/json; charset=utf-8")).toEqual({});
  for (const type of ["text/plain", "application/jsonx", ""])
    expect(() => read("{}", type)).toThrow(expect.objectContaining({ code: "unsupported_media_type" }));
  expect(() => jsonOf(bytes("{}"), undefined)).toThrow("found none");
  for (const text of ["", "{", "nope"])
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "invalid_json" }));
  expect(() => jsonOf(Uint8Array.of(0x22, 0xff, 0x22), "application/json")).toThrow("not UTF-8");
});

test("depth is bounded, brackets inside texts do not count", () => {
  expect(() => read("[".repeat(100_000))).toThrow("nested deeper than 32 levels");
  expect(() => read(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow("nested deeper");
  expect(read(`${"[".repeat(32)}${"]".repeat(32)}`)).toBeInstanceOf(Array);
  expect(read(JSON.stringify({ a: '[{"\\['.repeat(100) }))).toEqual({ a: '[{"\\['.repeat(100) });
});
