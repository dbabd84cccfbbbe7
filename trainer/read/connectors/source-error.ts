/** Errors that all connectors share. Each kind of store translates its own errors in its errors.ts. */
import type * as z from "zod";
import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";

/** What a customer sees of a store's error: a code and what to do. */
export type Explanation = { readonly code: string; readonly message: string; readonly retryable?: boolean };

export const refusal = (code: string, message: string): Explanation => ({ code, message });
/** For transient faults: the run is tried again. */
export const transient = (code: string, message: string): Explanation => ({ code, message, retryable: true });

export const sourceError = ({ code, message, retryable = false }: Explanation, cause?: unknown): StageError =>
  new StageError("fetching", code, message, { cause, retryable });

/** Throws the error of a source that the customer has to change. */
export function failSource(code: string, message: string): never {
  throw sourceError({ code, message });
}

export const timeoutError = (seconds: number): StageError =>
  sourceError({
    code: "source_timeout",
    message: `The query ran longer than the ${seconds} seconds allowed (SHORTLIST_QUERY_SECONDS); make it read less, or ask the operator for more time`,
  });

/** @param setting The name of the operator's setting that allows these seconds. */
export const silentError = (seconds: number, setting: `SHORTLIST_${"CONNECT" | "SILENCE"}_SECONDS`): StageError =>
  sourceError({
    code: "source_silent",
    message: `The source did not answer within ${seconds} seconds (${setting}); check that it is up, or let its query give rows earlier`,
    retryable: true,
  });

export const tooManyRows = (rowsMax: number): StageError =>
  sourceError({
    code: "too_many_rows",
    message: `The query gives more than the ${rowsMax} rows allowed; narrow it, such as to the newest interactions`,
  });

/** The error of later calls to a closed connector. */
export const closedError = (kind: string): StageError =>
  sourceError({ code: "source_closed", message: `The ${kind} connector is closed` });

export const badConfig = (kind: string, reason: string): StageError =>
  sourceError({
    code: "bad_connector_config",
    message: `The ${kind} connector's configuration is wrong: ${reason}`,
  });

/** The configuration, parsed by its schema. Throws StageError `bad_connector_config`. */
export function parseConfig<Schema extends z.ZodType>(config: ConnectorConfig, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`);
  throw badConfig(config.type, reasons.join("; "));
}
