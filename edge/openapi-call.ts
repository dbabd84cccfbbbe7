/** The form in which each call of the API is described. */
import type { z } from "zod";
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
