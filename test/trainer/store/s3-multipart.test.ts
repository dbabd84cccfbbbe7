import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { putInParts } from "../../../trainer/store/s3-multipart.ts";
import { type S3Call, type S3Options, s3Request } from "../../../trainer/store/s3-request.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../../fixtures/local-r2.ts";

const PART = 5 * 2 ** 20; // the least that R2 allows
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const body = Uint8Array.from({ length: 2 * PART + 12345 }, (_, i) => (i * 2654435761) >>> 24);

let s3: S3Options;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ s3, stop } = await startLocalR2());
});
afterAll(() => stop());

test.each([
  ["bytes", body],
  ["a Blob", new Blob([body])],
])("%s larger than a part: uploaded in parts and read back unchanged", async (name, value) => {
  const store = s3Store({ ...s3, partBytes: PART });
  const key = `parts/${name.replace(" ", "-")}`;
  await store.putIfAbsent(key, value, "application/octet-stream");
  expect(await store.head(key)).toBe(body.length);
  expect(digest((await store.get(key))!.bytes)).toBe(digest(body));
  await store.putIfAbsent(
    key,
    body.map(() => 0),
    "application/octet-stream",
  );
  expect(digest((await store.get(key))!.bytes)).toBe(digest(body));
});

test("when a part fails, no object appears and the upload is aborted", async () => {
  const calls: S3Call[] = [];
  const request = s3Request(s3);
  const failing = async (call: S3Call) => {
    calls.push(call);
    if (call.query?.partNumber === "2") throw new Error("the cable was cut");
    return request(call);
  };
  const upload = putInParts(failing, "parts/cut", { body, contentType: "text/plain", partBytes: PART });
  await expect(upload).rejects.toThrow("the cable was cut");
  expect(calls.at(-1)!.method).toBe("DELETE");
  expect(await s3Store(s3).head("parts/cut")).toBeUndefined();
});

test("after a failed part no other begins, and the upload is aborted once no part is running", async () => {
  const events: string[] = [];
  const request = async ({ method, query }: S3Call) => {
    events.push(`${method} ${query?.partNumber ?? ""}`);
    if (query?.partNumber === "1") throw new Error("the cable was cut");
    if (query?.partNumber !== undefined) {
      await setTimeout(20);
      events.push(`done ${query.partNumber}`);
      if (query.partNumber === "2") throw new Error("a later failure");
    }
    const bytes = new TextEncoder().encode("<UploadId>u</UploadId>");
    return { status: 200, headers: new Headers(), bytes, lostAnswers: 0 };
  };
  const upload = putInParts(request, "parts/cut", { body: body.subarray(0, 100), contentType: "x", partBytes: 10 });
  await expect(upload).rejects.toThrow("the cable was cut");
  expect(events).toEqual(["POST ", "PUT 1", "PUT 2", "PUT 3", "done 2", "done 3", "DELETE "]);
});

test("a completion whose answer was lost counts as done", async () => {
  const request = s3Request(s3);
  const losing = async (call: S3Call) => {
    const isCompletion = call.method === "POST" && call.query?.uploadId !== undefined;
    if (isCompletion) await request(call);
    return { ...(await request(call)), lostAnswers: isCompletion ? 1 : 0 };
  };
  await putInParts(losing, "parts/twice", { body, contentType: "text/plain", partBytes: PART });
  expect(await s3Store(s3).head("parts/twice")).toBe(body.length);
});
