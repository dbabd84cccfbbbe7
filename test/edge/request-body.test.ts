import { expect, test } from "vitest";
import { jsonTextOf, readBody } from "../../edge/request-body.ts";

const sending = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  new Request("http://edge", { method: "POST", body, headers, duplex: "half" } as RequestInit) as unknown as Parameters<
    typeof readBody
  >[0];
const streamOf = (parts: Uint8Array[]) =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  }) as unknown as BodyInit;
const chunks = (...sizes: number[]) => streamOf(sizes.map((size) => new Uint8Array(size).fill(65)));

test("without a body there are no bytes", async () => expect((await readBody(sending(null), 10)).length).toBe(0));
test("parts are joined in order", async () => {
  const body = streamOf([Uint8Array.of(1, 2), Uint8Array.of(3)]);
  expect([...(await readBody(sending(body), 3))]).toEqual([1, 2, 3]);
});
test.each([[[10]], [[5, 5]], [[]]])("a body of the largest size is read, in parts of %j", async (sizes) =>
  expect((await readBody(sending(chunks(...sizes)), 10)).length).toBe(sizes.length ? 10 : 0),
);
test("one byte more is refused, even without a content-length", () =>
  expect(readBody(sending(chunks(5, 6)), 10)).rejects.toMatchObject({ code: "body_too_large" }));
test("a content-length beyond the limit is refused before anything is read", () =>
  expect(readBody(sending("tiny", { "content-length": "11" }), 10)).rejects.toMatchObject({ code: "body_too_large" }));
test("an endless body is stopped at the limit", async () => {
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1000;
      controller.enqueue(new Uint8Array(1000));
    },
  });
  await expect(readBody(sending(endless as unknown as BodyInit), 10_000)).rejects.toMatchObject({
    code: "body_too_large",
  });
  expect(sent).toBeLessThan(20_000);
});
test("a body that breaks off is invalid JSON, with the reason", async () => {
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("Network connection lost.")) });
  const reading = readBody(sending(broken as unknown as BodyInit), 10);
  await expect(reading).rejects.toMatchObject({ code: "invalid_json", message: "The body broke off." });
});

test.each(["application/json", "Application/JSON; charset=utf-8", "application/json ;x=y"])("%s is JSON", (type) =>
  expect(jsonTextOf(new TextEncoder().encode('"é"'), type)).toBe('"é"'),
);
test.each([null, "", "text/plain", "application/jsonp", "multipart/form-data"])("%s is not JSON", (type) =>
  expect(() => jsonTextOf(new Uint8Array(0), type)).toThrow("must be application/json"),
);
test("bytes that are not UTF-8 are invalid JSON", () =>
  expect(() => jsonTextOf(Uint8Array.of(0x22, 0xc3, 0x28, 0x22), "application/json")).toThrow("not UTF-8"));
