/**
 * Files as a later release may write them, each in two variants. `added` has fields that today's readers do not know and must ignore.
 * `changed` has a higher format number and must be refused. Their frozen bytes are in future/.
 */
import * as z from "zod";
import { decodeContainer, encodeContainer } from "../../shared/container.ts";
import { REPORT } from "../fixtures/small-report.ts";
import { format1Files } from "./format-1.ts";
import { format2Files } from "./format-2.ts";

const NEW = { added_later: { reason: "a later release knows why" } };
type Json = Record<string, unknown>;

/** Adds a field to an object and to the objects at the given names inside it. */
const withFields = (object: Json, ...inside: string[]): Json => ({
  ...object,
  ...NEW,
  ...Object.fromEntries(inside.map((name) => [name, { ...(object[name] as Json), ...NEW }])),
});

/** JSON documents: what today's readers see, and the variant with more fields. */
function documents(today: ReadonlyMap<string, Uint8Array>, manifest2: Uint8Array): [string, Json, Json][] {
  const read = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as Json;
  const [manifest, live, key] = ["manifest.json", "live.json", "key-record.json"].map((name) => read(today.get(name)!));
  const { live: version } = live as { live: Json };
  return [
    ["manifest", manifest!, withFields(manifest!, "model", "catalog", "users")],
    ["manifest-with-user-values", read(manifest2), withFields(read(manifest2), "model", "user_values")],
    [
      "live",
      { ...live!, live: { ...version, first_version: "v0" } },
      { ...live!, ...NEW, live: { ...version, ...NEW, first_version: "v0" } },
    ],
    ["key-record", key!, withFields(key!)],
    ["report", REPORT, withFields(REPORT, "data", "split", "chosen", "gate", "seconds")],
  ];
}

function directories(bytes: Uint8Array): [string, Uint8Array][] {
  const { metadata, arrays } = decodeContainer(bytes, "user-directory", z.record(z.string(), z.unknown()));
  const added = encodeContainer({
    kind: "user-directory",
    metadata: { ...metadata, ...NEW },
    arrays: { ...Object.fromEntries(arrays), added_later: Uint8Array.of(1, 2, 3) },
  });
  const changed = bytes.slice();
  changed[8] = 2; // the container's format number
  return [
    ["user-directory-added.bin", added],
    ["user-directory-changed.bin", changed],
  ];
}

/** The content that today's readers must find in the `added` variant of each JSON document. */
export async function expectedDocuments(): Promise<ReadonlyMap<string, Json>> {
  const known = documents(await format1Files(), (await format2Files()).get("manifest.json")!);
  return new Map(known.map(([name, content]) => [name, content]));
}

/** File name to bytes. */
export async function futureFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const today = await format1Files();
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const written = documents(today, (await format2Files()).get("manifest.json")!);
  return new Map<string, Uint8Array>([
    ...written.flatMap(([name, content, added]) => [
      [`${name}-added.json`, json(added)] as const,
      [`${name}-changed.json`, json({ ...content, format: 3 })] as const,
    ]),
    ...directories(today.get("user-directory.bin")!),
  ]);
}
