/** Every error that a caller can receive. A new line here extends the public contract. */
export const PROBLEMS = {
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_parameter: { status: 400, title: "A parameter or field has a value that is not allowed" },
  missing_field: { status: 400, title: "A required field is missing" },
  unknown_field: { status: 400, title: "The request has a field that this call does not know" },
  limit_out_of_range: { status: 400, title: "The limit is not an integer in the allowed range" },
  too_many_interactions: { status: 400, title: "The request has too many interactions" },
  invalid_filter: { status: 400, title: "The retrieval query is not well formed" },
  unknown_attribute: { status: 400, title: "The request names an attribute that the model does not have" },
  filter_type_mismatch: {
    status: 400,
    title: "The retrieval query compares an attribute with a value of another type",
  },
  filter_too_large: { status: 400, title: "The retrieval query is too large" },
  missing_api_key: { status: 401, title: "The x-api-key header is missing" },
  invalid_api_key: { status: 401, title: "The x-api-key header is invalid" },
  insufficient_scope: { status: 403, title: "The API key may not make this call" },
  origin_not_allowed: { status: 403, title: "The API key is for web pages of other origins" },
  invalid_user_signature: { status: 403, title: "The user id has no valid signature" },
  model_not_found: { status: 404, title: "There is no model with this name" },
  item_not_found: { status: 404, title: "The model has no item with this id" },
  scenario_not_found: { status: 404, title: "The model has no scenario with this name" },
  experiment_not_found: { status: 404, title: "The model has no running experiment" },
  batch_not_found: { status: 404, title: "The model has no batch with this id" },
  version_not_found: { status: 404, title: "The model has no such version" },
  not_found: { status: 404, title: "There is nothing at this address" },
  method_not_allowed: { status: 405, title: "This address does not answer this method" },
  model_exists: { status: 409, title: "There is already a model with this name" },
  model_not_active: { status: 409, title: "The model cannot rank yet" },
  model_busy: { status: 409, title: "The model is busy with another run" },
  experiment_running: { status: 409, title: "The running experiment cannot be changed in this way" },
  experiment_too_large: {
    status: 409,
    title: "The versions of the experiment do not fit into an edge's memory together",
  },
  too_many_scenarios: { status: 409, title: "The model has as many scenarios as it may have" },
  idempotency_conflict: { status: 409, title: "This Idempotency-Key was used with another body" },
  quota_exceeded: { status: 409, title: "The customer has as many of these as the operator allows" },
  precondition_failed: { status: 412, title: "The object is not the one that If-Match names" },
  body_too_large: { status: 413, title: "The body is larger than allowed" },
  uri_too_long: { status: 414, title: "The address is longer than allowed" },
  unsupported_media_type: { status: 415, title: "The body must be application/json" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Something failed on our side" },
  artifact_unavailable: { status: 503, title: "The model's files cannot be read right now" },
  events_unavailable: { status: 503, title: "The user's events cannot be stored or read right now" },
  items_unavailable: { status: 503, title: "Changed items cannot be stored or read right now" },
  user_record_unavailable: { status: 503, title: "The user's seen items cannot be read right now" },
  trainer_unavailable: { status: 503, title: "Model management is not reachable right now" },
  overloaded: { status: 503, title: "The service is over its capacity" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault in a request: its place (a JSON pointer, RFC 6901), its code, and a sentence. */
export type ProblemPart = { readonly pointer: string; readonly code: string; readonly message: string };

type ProblemOptions = ErrorOptions & {
  readonly errors?: readonly ProblemPart[];
  /** Sent as Retry-After. */
  readonly retryAfterSeconds?: number;
  /** Additional members of the body, such as the status of a model that is not active. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Additional headers, such as Allow. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A failure that the caller caused or can act on. Any other error is a bug and becomes `internal`. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly errors: readonly ProblemPart[];
  readonly retryAfterSeconds: number | undefined;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options);
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}

/** The body of an error response (RFC 9457, problem+json). Edge and trainer both send exactly this. */
export function problemBody(problem: Problem, requestId: string): Record<string, unknown> {
  const { status, title } = PROBLEMS[problem.code];
  return {
    type: `about:blank#${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    request_id: requestId,
    errors: problem.errors,
    error: problem.message,
    ...problem.extra,
  };
}
