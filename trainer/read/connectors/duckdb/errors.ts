import { clipped } from "../../../../shared/clipped.ts";
import { StageError } from "../../../stage/stage-error.ts";
import { sourceError } from "../source-error.ts";
import type { SourceFile } from "./files.ts";

const MESSAGE_LENGTH_MAX = 600;

/** A path of this machine, and the text that replaces it. */
type HiddenPath = string | { readonly path: string; readonly shownAs: string };

/**
 * DuckDB's error as the customer may see it: with a code, and without paths of this machine.
 *
 * @param file The file that was opened, when the error is about opening one.
 */
export function explainDuckDBError(error: unknown, hidden: readonly HiddenPath[], file?: SourceFile): StageError {
  if (error instanceof StageError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const shown = firstParagraph(withoutPaths(message, hidden));
  const explained = (code: string, text: string) => sourceError({ code, message: text }, error);

  if (/^Out of Memory Error/.test(message))
    return explained(
      "source_out_of_memory",
      "The query needs more memory or temporary disk space than is allowed; make it read less, or let it sort and join less",
    );
  if (/No space left on device|max_temp_directory_size/i.test(message))
    return explained(
      "source_out_of_disk",
      "The query needs more temporary disk space than is there; make it read less",
    );
  if (/^Permission Error/.test(message))
    return explained("source_query_refused", `The query asks for something that is not allowed: ${shown}`);
  if (file !== undefined || /^IO Error|CSV Error|sniffing file|Malformed JSON|Parquet|magic bytes/i.test(message))
    return explained("file_malformed", fileSentence(message, shown, file));
  return explained("source_query_failed", `The query failed: ${shown}`);
}

function fileSentence(message: string, shown: string, file: SourceFile | undefined): string {
  const name = file === undefined ? "A file" : JSON.stringify(file.shownAs);
  const kind = file?.format.toUpperCase() ?? "a table";
  if (/not a GZIP stream/i.test(message)) return `${name} ends in .gz but is not gzip-compressed`;
  if (file?.compression === "zstd" && /zstd/i.test(message.split("\n")[0]!))
    return `${name} ends in .zst but is not a whole zstd file`;
  if (/Maximum line size of \d+ bytes exceeded/i.test(message))
    return `${name} has a line longer than 2 MB; lines must be shorter`;
  if (/Invalid unicode|not utf-8/i.test(message))
    return `${name} is not in UTF-8 throughout; convert it first, such as with iconv`;
  if (/sniffing file/i.test(message))
    return `${name} is not ${kind}: no delimiter makes a table of it. Expected UTF-8 text, one header line, line ends all LF or CRLF`;
  if (/magic bytes|too small to be a Parquet/i.test(message)) return `${name} is not a Parquet file, or it is cut off`;
  return `${name} cannot be read: ${shown}`;
}

/** Replaces the longest paths first, because a folder's path is the beginning of its files' paths. */
function withoutPaths(message: string, hidden: readonly HiddenPath[]): string {
  const pairs = hidden.map((one) => (typeof one === "string" ? { path: one, shownAs: "…" } : one));
  const ordered = pairs.sort((a, b) => b.path.length - a.path.length);
  return ordered.reduce((text, { path, shownAs }) => text.replaceAll(path, shownAs), message);
}

/** The first paragraph of DuckDB's message. The others repeat the query, or suggest options that nobody can set here. */
export function firstParagraph(message: string): string {
  const paragraph = message
    .split(/\n\s*\n|\nLINE \d+:|\nPossible/)[0]!
    .replaceAll("\n", " ")
    .trim();
  return paragraph.length > MESSAGE_LENGTH_MAX ? `${clipped(paragraph, MESSAGE_LENGTH_MAX)}…` : paragraph;
}
