import { FormatError } from "../../shared/assert.ts";
import {
  decodeExtension,
  EXTENSION_BYTES_MAX,
  type ExtensionOfVersion,
  extensionKey,
  type VersionExtension,
} from "../../shared/items/extension-file.ts";
import { isUnreadable, type ReadAccess } from "../reading/artifact-reader.ts";
import type { ModelVersion } from "./live-pointers.ts";

/** The file by which a version scores new items, as it was read. */
export type ReadExtension = {
  readonly digest: string;
  readonly bytes: number;
  /** Undefined: it could not be read at `triedMs`. */
  readonly file: VersionExtension | undefined;
  readonly triedMs: number;
};

export type LoggedAccess = ReadAccess & { readonly log: (entry: object) => void };

/** An extension that could not be read is read again after this time. */
const RETRY_MS = 4000;

/** The version's extension, if the pointer names one. */
export const extensionOf = ({ live }: ModelVersion, named: ExtensionOfVersion | undefined) =>
  named?.version === live.version ? named.file : undefined;

/** Whether what was read is what the pointer names. */
export function isCurrent(
  known: ReadExtension | undefined,
  wanted: ExtensionOfVersion["file"] | undefined,
  nowMs: number,
): boolean {
  if (known?.digest !== wanted?.digest) return false;
  return known === undefined || known.file !== undefined || nowMs < known.triedMs + RETRY_MS;
}

/** What was read, if it is what the pointer names, else what is read now. */
export async function currentExtension(
  known: ReadExtension | undefined,
  target: ModelVersion,
  wanted: ExtensionOfVersion["file"] | undefined,
  access: LoggedAccess,
): Promise<ReadExtension | undefined> {
  if (wanted === undefined || isCurrent(known, wanted, access.nowMs())) return wanted && known;
  return readExtension(target, wanted, access);
}

/** Reads an extension. A failure is not thrown: without it, new items are served too, but come last. */
async function readExtension(
  { customer, modelName }: ModelVersion,
  wanted: ExtensionOfVersion["file"],
  access: LoggedAccess,
): Promise<ReadExtension> {
  const { digest, size: bytes } = wanted;
  const triedMs = access.nowMs();
  try {
    if (bytes > EXTENSION_BYTES_MAX) throw new FormatError(`an extension has ${bytes} bytes`);
    const file = decodeExtension(await access.reader.file(extensionKey(customer, modelName, wanted), wanted));
    return { digest, bytes, file, triedMs };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    access.log({
      event: "extension_not_read",
      level: "warning",
      customer,
      model_name: modelName,
      error: String(error),
    });
    return { digest, bytes: 0, file: undefined, triedMs };
  }
}
