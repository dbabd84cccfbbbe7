import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EvaluationReport } from "../../shared/evaluation-report.ts";
import { KeyRecord } from "../../shared/key-record.ts";
import { areOfOneModel, LivePointer } from "../../shared/live-pointer.ts";
import { Manifest } from "../../shared/manifest.ts";
import { decodeUserDirectory } from "../../shared/user-records.ts";
import { SALT, USER_COUNT } from "./format-1.ts";
import { expectedDocuments, futureFiles } from "./future.ts";

const folder = new URL("future/", import.meta.url).pathname;
const frozen = (name: string) => new Uint8Array(readFileSync(folder + name));
const json = (name: string): unknown => JSON.parse(new TextDecoder().decode(frozen(name)));

const SCHEMAS = {
  manifest: Manifest,
  "manifest-with-user-values": Manifest,
  live: LivePointer,
  "key-record": KeyRecord,
  report: EvaluationReport,
};

test("the frozen files are those described in future.ts", async () => {
  const files = await futureFiles();
  expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort());
  for (const [name, bytes] of files)
    expect([name, Buffer.from(bytes).toString("base64")]).toEqual([name, Buffer.from(frozen(name)).toString("base64")]);
});

test.each(Object.entries(SCHEMAS))("%s: fields of a later release are ignored", async (name, schema) => {
  expect(schema.parse(json(`${name}-added.json`))).toEqual((await expectedDocuments()).get(name));
});

test.each(Object.entries(SCHEMAS))("%s: a higher format number is refused", (name, schema) => {
  const { error } = schema.safeParse(json(`${name}-changed.json`));
  expect(error?.issues[0]?.path).toEqual(["format"]);
});

test("a user directory with more metadata and arrays is read, one of a higher format is refused", () => {
  expect(decodeUserDirectory(frozen("user-directory-added.bin"))).toMatchObject({ salt: SALT, userCount: USER_COUNT });
  expect(() => decodeUserDirectory(frozen("user-directory-changed.bin"))).toThrow("expected format 1, found 2");
});

test("the first version of a model is read from the field of a later release, too", () => {
  const { live } = LivePointer.parse(json("live-added.json"));
  const today = { ...live!, first_version: undefined };
  const manifest = { ...today.manifest, media_type: "application/vnd.shortlist.manifest+json; first=v0" };
  expect(areOfOneModel(live!, { ...today, manifest })).toBe(true);
  expect(areOfOneModel(live!, today)).toBe(false);
});
