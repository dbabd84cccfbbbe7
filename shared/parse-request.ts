import type * as z from "zod";
import { clipped } from "./clipped.ts";
import { didYouMean } from "./nearest-name.ts";
import { PROBLEMS, Problem, type ProblemCode, type ProblemPart } from "./problem.ts";

type Issue = z.core.$ZodIssue;

export type ParseOptions = {
  /** JSON pointer of the value in the request; empty for the whole body. */
  readonly at?: string;
  /** Returns the code of a fault that has a special one, such as `limit_out_of_range` at `/limit`. */
  readonly codeOf?: (pointer: string, issue: Issue) => ProblemCode | undefined;
  /** A field whose values never appear in error texts, since it may contain a secret. */
  readonly hidden?: string;
};

/** The most faults that are reported for one request. */
export const ERRORS_MAX = 50;
const SHOWN_MAX = 80;

/**
 * Returns the parsed value, or throws one Problem whose `errors` name every fault, at most 50. Its code is that of the first fault. A
 * schema's own messages are kept; they complete the sentence "`/field` …".
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, options: ParseOptions = {}): T {
  const known = new Map<unknown, readonly string[]>(); // known field names, by the object with the unknown ones
  const result = schema.safeParse(value, {
    reportInput: true,
    error: (issue) => {
      // Only the raw issue contains the schema that refused the keys.
      if (issue.code === "unrecognized_keys") known.set(issue.input, knownKeys(issue.inst));
      const isHidden = options.hidden !== undefined && issue.path?.[0] === options.hidden;
      return sentenceOf(issue as Issue, isHidden ? shownType : shown);
    },
  });
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, ERRORS_MAX);
  const errors = issues.flatMap((issue) => partsOf(issue, known, options)).slice(0, ERRORS_MAX);
  throw problemOf(errors);
}

/** One Problem for several faults. */
export function problemOf(errors: readonly ProblemPart[]): Problem {
  const first = errors[0]!;
  const code = Object.hasOwn(PROBLEMS, first.code) ? (first.code as ProblemCode) : "invalid_parameter";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more: see errors)` : "";
  return new Problem(code, `${first.pointer || "the body"} ${first.message}${more}`, { errors });
}

/** Throws Problem invalid_json. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    // The engine's message quotes the text around the fault, which may contain a secret.
    const reason = cause.message.replace(/, (\.\.\.)?".*$/s, "");
    const detail = text.trim() === "" ? "the body is empty; expected JSON" : `the body is not JSON: ${reason}`;
    throw new Problem("invalid_json", detail);
  }
}

/** A caller's value for an error text: its JSON, shortened. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(clipped(value, SHOWN_MAX + 1)) : shownStructure(value);
  return text.length > SHOWN_MAX ? `${clipped(text, SHOWN_MAX)}…` : text;
}

/** The type of a value that was sent, without its content. */
const shownType = (value: unknown): string =>
  typeof value === "string" ? "text" : typeof value === "number" ? "a number" : shown(value);

/** A step of a JSON pointer (RFC 6901). */
export const pointerStep = (key: PropertyKey): string =>
  `/${String(key).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** Does not descend into the value, which may be deep or large. */
function shownStructure(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

function partsOf(issue: Issue, known: ReadonlyMap<unknown, readonly string[]>, options: ParseOptions): ProblemPart[] {
  if (issue.code === "invalid_union" && issue.errors.length > 0)
    return nearestBranch(issue).flatMap((inner) =>
      partsOf({ ...inner, path: [...issue.path, ...inner.path] } as Issue, known, options),
    );
  const pointer = (options.at ?? "") + issue.path.map(pointerStep).join("");
  if (issue.code === "unrecognized_keys") {
    const names = known.get(issue.input) ?? [];
    return issue.keys.slice(0, ERRORS_MAX).map((key) => ({
      pointer: pointer + pointerStep(key),
      code: "unknown_field",
      message: `is not a field of this call${didYouMean(key, names) || knownShown(names)}`,
    }));
  }
  return [{ pointer, code: codeOf(issue, pointer, options), message: issue.message }];
}

const knownShown = (names: readonly string[]) =>
  names.length > 0 ? `; known are ${names.join(", ")}` : ", which takes none here";

function codeOf(issue: Issue, pointer: string, options: ParseOptions): ProblemCode {
  if (isMissing(issue)) return "missing_field";
  return options.codeOf?.(pointer, issue) ?? "invalid_parameter";
}

/** Whether a value was not sent: JSON has no undefined. */
const isMissing = (issue: Issue) =>
  issue.code === "invalid_union" && isUnknownKind(issue)
    ? kindOf(issue) === undefined
    : ["invalid_type", "invalid_value", "invalid_union"].includes(issue.code) && issue.input === undefined;

type Union = Extract<Issue, { code: "invalid_union" }>;
type UnknownKind = Union & { readonly discriminator: string; readonly options?: readonly unknown[] };

/** Whether an object's discriminator, such as `type`, is not that of any branch of the union. */
const isUnknownKind = (issue: Union): issue is UnknownKind =>
  "discriminator" in issue && issue.discriminator !== undefined;

const kindOf = (issue: UnknownKind) => (issue.input as Record<string, unknown>)[issue.discriminator];

/** The issues of the union's branch that was probably meant: the one whose faults lie deepest. */
function nearestBranch(issue: Union): Issue[] {
  const depth = (branch: readonly Issue[]) => Math.max(...branch.map((inner) => inner.path.length));
  const branches = issue.errors as Issue[][];
  const deepest = Math.max(...branches.map(depth));
  if (deepest > 0) return branches.find((branch) => depth(branch) === deepest)!;
  const expected = branches.flatMap((branch) => branch.map((inner) => ("expected" in inner ? inner.expected : "")));
  const types = [...new Set(expected)].filter(Boolean);
  const first = branches[0]![0]!;
  if (types.length < 2 || isMissing(first)) return branches[0]!;
  return [
    { ...first, message: `must be ${types.map(withArticle).join(" or ")}, found ${shown(first.input)}` } as Issue,
  ];
}

/** The message for a fault whose schema has no message of its own. */
function sentenceOf(issue: Issue, show: (value: unknown) => string): string | undefined {
  if (isMissing(issue)) return "is required";
  if (issue.code === "invalid_type") return `must be ${withArticle(issue.expected)}, found ${show(issue.input)}`;
  if (issue.code === "invalid_value")
    return `must be ${issue.values.map((value) => shown(value)).join(" or ")}, found ${show(issue.input)}`;
  if (issue.code === "invalid_union" && isUnknownKind(issue))
    return `must be ${(issue.options ?? []).map(shown).join(" or ")}, found ${show(kindOf(issue))}`;
  if (issue.code === "too_big") return `must be at most ${amountOf(issue.maximum, issue.origin)}`;
  if (issue.code === "too_small") return `must be at least ${amountOf(issue.minimum, issue.origin)}`;
  return undefined;
}

const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};
function amountOf(count: number | bigint, origin: string): string {
  const units = UNITS[origin];
  return units ? `${count} ${units[count === 1 ? 0 : 1]} long` : String(count);
}

/** Names of types that differ from those of JSON. */
const TYPE_NAMES: Readonly<Record<string, string>> = { int: "integer", record: "object" };
function withArticle(type: string): string {
  const name = TYPE_NAMES[type] ?? type;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

/** The field names of the object schema that raised an issue. */
function knownKeys(schema: unknown): readonly string[] {
  const shape = (schema as { _zod?: { def?: { shape?: Record<string, unknown> } } })._zod?.def?.shape;
  return Object.keys(shape ?? {});
}
