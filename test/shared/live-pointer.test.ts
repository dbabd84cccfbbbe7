import { expect, test } from "vitest";
import { LivePointer, ModelStatus } from "../../shared/live-pointer.ts";

const manifest = { media_type: "application/json", digest: `sha256:${"0".repeat(64)}`, size: 1 };
const pointer = { format: 1, status: "ACTIVE", live: { version: "v1", manifest }, updated_at: "2026-01-01T00:00:00Z" };

test("a pointer of every status may name a live version, but ACTIVE must", () => {
  for (const status of ModelStatus.options) {
    expect(LivePointer.safeParse({ ...pointer, status }).success).toBe(true);
    expect(LivePointer.safeParse({ ...pointer, status, live: null }).success).toBe(status !== "ACTIVE");
  }
});

test.each([
  ["another format", { format: 2 }],
  ["an unknown status", { status: "READY" }],
  ["an unknown field", { extra: 1 }],
  ["a digest that is none", { live: { version: "v1", manifest: { ...manifest, digest: "sha256:xyz" } } }],
  ["a negative size", { live: { version: "v1", manifest: { ...manifest, size: -1 } } }],
])("%s is refused", (_, change) => expect(LivePointer.safeParse({ ...pointer, ...change }).success).toBe(false));
