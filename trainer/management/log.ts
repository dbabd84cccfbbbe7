import { redacted } from "./redaction.ts";

export type LogEntry = Readonly<Record<string, unknown>> & {
  readonly event: string;
  readonly level: "info" | "warning" | "error";
};
/** Takes one event. */
export type Log = (entry: LogEntry) => void;

const TEXT_MAX = 8192;

/** One JSON object a line, the operator's secrets cut out whatever the entry holds. */
export function lineLog(write: (line: string) => void, nowMs: () => number, secrets: readonly string[]): Log {
  return (entry) => {
    const line = redacted({ time: new Date(nowMs()).toISOString(), ...entry }, secrets);
    write(`${JSON.stringify(line, shortened)}\n`);
  };
}

/** An error for a log line: with its stack and its causes, which no caller sees. */
export function errorForLog(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? text : `${text}\ncaused by ${errorForLog(error.cause)}`;
}

const shortened = (_name: string, value: unknown) =>
  typeof value === "string" && value.length > TEXT_MAX ? `…${value.slice(-TEXT_MAX)}` : value;
