import { describe, expect, test } from "vitest";
import { PROBLEMS, Problem, type ProblemCode, problemBody } from "../../shared/problem.ts";

const codes = Object.entries(PROBLEMS) as [ProblemCode, { status: number; title: string }][];

/** The public contract. Lines may be added, but no line may change. */
const CONTRACT: Readonly<Record<number, string>> = {
  400:
    "invalid_json invalid_parameter missing_field unknown_field limit_out_of_range too_many_interactions " +
    "invalid_filter unknown_attribute filter_type_mismatch filter_too_large",
  401: "missing_api_key invalid_api_key",
  403: "insufficient_scope",
  404: "model_not_found version_not_found not_found",
  405: "method_not_allowed",
  409: "model_exists model_not_active model_busy idempotency_conflict quota_exceeded",
  413: "body_too_large",
  414: "uri_too_long",
  415: "unsupported_media_type",
  429: "rate_limited",
  500: "internal",
  503: "artifact_unavailable user_record_unavailable trainer_unavailable overloaded",
};

test.each(Object.entries(CONTRACT))("codes of status %s", (status, names) =>
  expect(codes.filter(([, problem]) => problem.status === Number(status)).map(([code]) => code)).toEqual(
    expect.arrayContaining(names.split(" ")),
  ),
);

describe.each(codes)("%s", (code, { status, title }) => {
  test("has a title of its own without names and without a full stop", () => {
    expect(title).toMatch(/^[A-Z].*[^.]$/);
    expect(codes.filter(([, other]) => other.title === title)).toHaveLength(1);
  });
  test("has a body with every promised field", () => {
    const errors = [{ pointer: "/a", code, message: "is wrong" }];
    const body = problemBody(new Problem(code, "what happened", { errors, extra: { model_status: "TRAINING" } }), "r1");
    expect(body).toEqual({
      type: `about:blank#${code}`,
      title,
      status,
      detail: "what happened",
      code,
      request_id: "r1",
      errors,
      error: "what happened",
      model_status: "TRAINING",
    });
  });
});

test("the options of a problem are kept", () => {
  const told = {
    errors: [{ pointer: "/a", code: "internal", message: "is wrong" }],
    retryAfterSeconds: 5,
    extra: { model_status: "TRAINING" },
    headers: { allow: "GET" },
  };
  expect({ ...new Problem("internal", "x", told) }).toMatchObject(told);
});
test("a problem without options has defaults", () => {
  const cause = new Error("below");
  const problem = new Problem("internal", "x", { cause });
  expect({ ...problem }).toEqual({ name: "Problem", code: "internal", errors: [], extra: {}, headers: {} });
  expect(problem.cause).toBe(cause);
});
