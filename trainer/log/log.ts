import { withoutApiKeys } from "../../shared/api-key.ts";
import { redacted } from "./redaction.ts";

export type LogEntry = Readonly<Record<string, unknown>> & {
  readonly event: string;
  readonly level: "info" | "warning" | "error";
};
export type Log = (entry: LogEntry) => void;

const TEXT_MAX = 8192;

/** Writes each entry as one line of JSON. The given secrets and all API keys are replaced, wherever the entry holds them. */
export function lineLog(write: (line: string) => void, nowMs: () => number, secrets: readonly string[]): Log {
  return (entry) => {
    const line = redacted({ time: new Date(nowMs()).toISOString(), ...entry }, secrets);
    write(`${JSON.stringify(line, written)}\n`);
  };
}

/** The text of an error for the log, with its stack and causes. Callers never see it. */
export function errorForLog(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? text : `${text}\ncaused by ${errorForLog(error.cause)}`;
}

/** Keys are removed before the text is shortened, because a truncated key would not be recognised. */
const written = (_name: string, value: unknown) =>
  typeof value === "string" ? shortened(withoutApiKeys(value)) : value;

const shortened = (text: string) => (text.length > TEXT_MAX ? `…${text.slice(-TEXT_MAX)}` : text);
