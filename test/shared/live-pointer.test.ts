import { expect, test } from "vitest";
import { areOfOneModel, LivePointer, liveAfter, MANIFEST_TYPE, ModelStatus } from "../../shared/live-pointer.ts";

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
  ["something that is not a digest", { live: { version: "v1", manifest: { ...manifest, digest: "sha256:xyz" } } }],
  ["a negative size", { live: { version: "v1", manifest: { ...manifest, size: -1 } } }],
])("%s is refused", (_, change) => expect(LivePointer.safeParse({ ...pointer, ...change }).success).toBe(false));

test("versions of a model are distinguished from those of a deleted model of its name", () => {
  const first = liveAfter(null, "20260101T000000000Z-00000000", manifest);
  const second = liveAfter(first, "20260102T000000000Z-00000000", manifest);
  const again = liveAfter(null, "20260103T000000000Z-00000000", manifest);
  const older = liveAfter({ version: "v1", manifest }, "v2", manifest);
  expect(
    [first, second, again, older].map((live) => [first, second, again, older].map((to) => areOfOneModel(live, to))),
  ).toEqual([
    [true, true, false, false],
    [true, true, false, false],
    [false, false, true, false],
    [false, false, false, true],
  ]);
  expect(areOfOneModel(older, { version: "v1", manifest })).toBe(true);
});
test("the first version is read from its field, else from the media type", () => {
  const first = liveAfter(null, "20260101T000000000Z-00000000", manifest);
  const withField = { version: "v2", manifest, first_version: "20260101T000000000Z-00000000" };
  const third = liveAfter(withField, "v3", manifest);
  expect([areOfOneModel(first, withField), areOfOneModel(withField, third), areOfOneModel(first, third)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(areOfOneModel({ ...withField, first_version: "v0" }, first)).toBe(false);
});
test("a written pointer has no field that earlier Workers refuse", () => {
  for (const version of ["20260101T000000000Z-00000000", "v".repeat(64)]) {
    const live = liveAfter(null, version, manifest);
    expect(LivePointer.parse({ ...pointer, live }).live).toEqual(live);
    expect(live.manifest).toMatchObject({ digest: manifest.digest, size: manifest.size });
    expect(live.manifest.media_type).toMatch(`${MANIFEST_TYPE}; first=${version.slice(0, 20)}`);
  }
});
