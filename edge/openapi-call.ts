/** The form in which each call of the API is described. */
import type * as z from "zod";
import { MANAGEMENT_BODY_BYTES_MAX } from "../shared/api.ts";
import type { Scope } from "../shared/key-record.ts";
import type { ProblemCode } from "../shared/problem.ts";

/** A successful answer. */
export type Answer = { readonly status: number; readonly description: string; readonly schema: z.ZodType };

export type Parameter = {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: z.ZodType;
  readonly isRequired?: boolean;
};

/** One published call of the API. Path parameters are taken from the path. */
export type Call = {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** Null: needs no key. */
  readonly scope: Scope | null;
  readonly parameters?: readonly Parameter[];
  readonly body?: { readonly schema: z.ZodType; readonly bytesMax: number; readonly isRequired: boolean };
  readonly answers: readonly Answer[];
  /** In addition to the problems of every call with this scope. */
  readonly problems: readonly ProblemCode[];
};

type Described = (name: string, schema: z.ZodType, description: string) => Parameter;
export const at = (method: Call["method"], path: string, id: string) => ({ method, path, id });
export const query: Described = (name, schema, description) => ({ name, in: "query", description, schema });
export const header: Described = (name, schema, description) => ({ name, in: "header", description, schema });
export const answer = (status: number, schema: z.ZodType, description: string): Answer => ({
  status,
  description,
  schema,
});
export const required = (schema: z.ZodType) => ({ schema, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true });

/** The faults that any body can have. */
export const BODY_FAULTS: readonly ProblemCode[] = [
  "invalid_json",
  "invalid_parameter",
  "missing_field",
  "unknown_field",
  "body_too_large",
  "unsupported_media_type",
];
/** The faults that the filters of a call can have. */
export const FILTER_FAULTS: readonly ProblemCode[] = [
  "invalid_filter",
  "unknown_attribute",
  "filter_type_mismatch",
  "filter_too_large",
];
