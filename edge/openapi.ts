import * as z from "zod";
import { FILTER_SCHEMAS } from "../shared/filter/filter-schema.ts";
import type { Scope } from "../shared/key-record.ts";
import { PROBLEMS, type ProblemCode } from "../shared/problem.ts";
import { TASKS, taskOf } from "./docs/tasks.ts";
import type { Call, Parameter } from "./openapi-call.ts";
import { CALLS } from "./openapi-calls.ts";

type Json = Readonly<Record<string, unknown>>;

const PROBLEMS_WITH_KEY: readonly ProblemCode[] = [
  "missing_api_key",
  "invalid_api_key",
  "origin_not_allowed",
  "rate_limited",
  "artifact_unavailable",
];
const PROBLEMS_BY_SCOPE: Readonly<Record<Scope, readonly ProblemCode[]>> = {
  rank: ["insufficient_scope", "invalid_user_signature"],
  events: ["insufficient_scope", "invalid_user_signature"],
  items: ["insufficient_scope"],
  manage: ["invalid_parameter", "insufficient_scope", "trainer_unavailable", "overloaded"], // invalid_parameter: a wrong Idempotency-Key
};
const PROBLEMS_OF_EVERY_CALL: readonly ProblemCode[] = ["uri_too_long", "internal"];

let text: string | undefined;
/** The document as JSON, made at the first call. */
export function openApiText(): string {
  text ??= JSON.stringify(openApiDocument());
  return text;
}

/** The OpenAPI 3.1 description of the API, from the schemas that check its requests. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const call of CALLS) {
    paths[call.path] ??= {};
    paths[call.path]![call.method] = operationOf(call);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Shortlist",
      version: "0",
      description: "Personalised rankings. Within /v0 only additive changes are made.",
      contact: { name: "The operator of this service" },
    },
    tags: TASKS.map(({ name, introduction }) => ({ name, description: introduction })),
    servers: [{ url: "/" }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "x-api-key" } },
      schemas: { Problem: jsonSchema(ProblemAnswer, "output"), ...FILTER_SCHEMAS },
      headers: RANK_HEADERS,
    },
  };
}

/** Every problem code that a call can answer with. */
export const problemsOf = ({ scope, problems }: Call): ProblemCode[] => [
  ...new Set([
    ...problems,
    ...(scope ? [...PROBLEMS_WITH_KEY, ...PROBLEMS_BY_SCOPE[scope]] : []),
    ...PROBLEMS_OF_EVERY_CALL,
  ]),
];

function operationOf(call: Call): Json {
  const { id, summary, description, scope, body, answers } = call;
  const declared = [...(call.parameters ?? []), ...(scope === "rank" || scope === "events" ? [USER_SIGNATURE] : [])];
  const parameters = [...pathParameters(call.path), ...declared.map(parameterOf)];
  const responses: Record<string, Json> = {};
  for (const answer of answers) {
    responses[answer.status] = {
      description: answer.description,
      content: { "application/json": { schema: jsonSchema(answer.schema, "output") } },
      ...(scope === "rank" ? { headers: RANK_HEADER_REFS } : {}),
    };
  }
  return {
    operationId: id,
    summary,
    description,
    tags: [taskOf(id).name],
    ...(scope ? { security: [{ apiKey: [] }] } : { security: [] }),
    ...(parameters.length ? { parameters } : {}),
    ...(body ? { requestBody: requestBodyOf(body) } : {}),
    responses: { ...responses, ...problemResponses(problemsOf(call)) },
  };
}

const requestBodyOf = ({ schema, bytesMax, isRequired }: NonNullable<Call["body"]>): Json => ({
  required: isRequired,
  description: `At most ${bytesMax / 1024} KiB.`,
  content: { "application/json": { schema: jsonSchema(schema, "input") } },
});

const USER_SIGNATURE: Parameter = {
  name: "x-user-signature",
  in: "header",
  description:
    "For API keys that need signed user ids: the HMAC-SHA-256 of `user_id` in hex, with the user secret of the key.",
  schema: z.string(),
};

/** Conflicts that end by themselves, so that their answers have a Retry-After. */
const PASSING_CONFLICTS: readonly ProblemCode[] = ["model_not_active", "model_busy", "model_exists"];

/** One response for each status, with the codes that have it. */
function problemResponses(codes: readonly ProblemCode[]): Record<string, Json> {
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  const responses = [...byStatus].map(([status, group]) => {
    const schema = { allOf: [PROBLEM_REF, { properties: { code: { enum: group } } }] };
    const retry = [429, 503].includes(status) || group.some((code) => PASSING_CONFLICTS.includes(code));
    return [
      String(status),
      {
        description: group.map((code) => `${code}: ${PROBLEMS[code].title}.`).join(" "),
        content: { "application/problem+json": { schema } },
        ...(retry ? { headers: { "retry-after": { schema: { type: "integer" }, description: "Seconds." } } } : {}),
      },
    ];
  });
  return Object.fromEntries(responses);
}

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

const parameterOf = ({ name, in: place, description, schema, isRequired = false }: Parameter): Json => ({
  name,
  in: place,
  required: isRequired,
  description,
  schema: jsonSchema(schema, "input"),
  ...(schema instanceof z.ZodArray ? { explode: false } : {}), // values separated by commas
});

const jsonSchema = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  const examples = schema.meta()?.examples; // zod drops those of a schema that transforms values
  return { ...rest, ...(examples ? { examples } : {}) };
};

const PROBLEM_REF = { $ref: "#/components/schemas/Problem" };
const ProblemAnswer = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(PROBLEMS)),
    request_id: z.string(),
    error: z.string().describe("The same as detail."),
    errors: z.array(z.looseObject({ pointer: z.string(), code: z.string(), message: z.string() })),
    model_status: z.string().optional().describe("With model_not_active: the model's status."),
    training: z.looseObject({}).optional().describe("With model_busy: state and run_id of the current run."),
    stage_code: z.string().optional().describe("For a dry run that could not read the source: the reason."),
  })
  .describe("RFC 9457.");
const textHeader = (description: string, required = true) => ({ description, required, schema: { type: "string" } });
export const RANK_HEADERS = {
  "x-request-id": textHeader("Names this call in logs; the caller's own if it sent one."),
  "x-rank-id": textHeader("Names this list: the version and something random. Send it as the rank_id of events."),
  "x-model-version": textHeader("The version that ranked; `none` before the first version of a model of events alone."),
  "x-rank-strategy": textHeader(
    "personalized (by the stored history or, without any, by the user's attributes), session, popular or newest; similar for similar " +
      "items.",
  ),
  "x-arm": textHeader(
    "The arm of the running experiment, or canary or holdout; absent if the call takes no part in one.",
    false,
  ),
  "x-ignored-interactions": textHeader("How many interactions had ids unknown to the model."),
  "x-unknown-items": textHeader("With `item_ids` or `pinned`: how many of these ids the model does not know.", false),
  "x-missing-references": textHeader(
    'The references without a value and without a default, such as "$user.country, $context.language". The conditions with them fail ' +
      "for every item.",
    false,
  ),
  "x-scenario-problem": textHeader(
    "The parts of the scenario that do not fit the live version and were left out.",
    false,
  ),
  "x-seen-filter": textHeader(
    "Only `unavailable`: the operator has chosen to rank without it rather than not at all.",
    false,
  ),
  "x-catalog-changes": textHeader(
    "Only `unavailable`: the operator has chosen to rank with older changes of the catalog rather than not at all.",
    false,
  ),
  "x-events": textHeader(
    "With `user_id`, if the model listens to events: how many of the user's live events were used. `unavailable`: the operator has " +
      "chosen to rank without them rather than not at all.",
    false,
  ),
  "server-timing": textHeader("Milliseconds of waiting: for the version, for the user's record, for the call's turn."),
};
const RANK_HEADER_REFS = Object.fromEntries(
  Object.keys(RANK_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);
