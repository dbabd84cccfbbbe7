import { withoutApiKeys } from "../../shared/api-key.ts";
import { redacted } from "./redaction.ts";

export type LogEntry = Readonly<Record<string, unknown>> & {
  readonly event: string;
  readonly level: "info" | "warning" | "error";
};
/** Takes one event. */
export type Log = (entry: LogEntry) => void;

const TEXT_MAX = 8192;

/** One JSON object a line, the operator's secrets and everybody's API keys cut out whatever the entry holds. */
export function lineLog(write: (line: string) => void, nowMs: () => number, secrets: readonly string[]): Log {
  return (entry) => {
    const line = redacted({ time: new Date(nowMs()).toISOString(), ...entry }, secrets);
    write(`${JSON.stringify(line, written)}\n`);
  };
}

/** An error for a log line: with its stack and its causes, which no caller sees. */
export function errorForLog(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? text : `${text}\ncaused by ${errorForLog(error.cause)}`;
}

/** Without keys first: half a key is not known for one. */
const written = (_name: string, value: unknown) =>
  typeof value === "string" ? shortened(withoutApiKeys(value)) : value;

const shortened = (text: string) => (text.length > TEXT_MAX ? `…${text.slice(-TEXT_MAX)}` : text);
