import { expect, test } from "vitest";
import { TASKS } from "../../edge/docs/tasks.ts";
import { openApiDocument, problemsOf } from "../../edge/openapi.ts";
import { CALLS } from "../../edge/openapi-calls.ts";
import { PROBLEMS, type ProblemCode } from "../../shared/problem.ts";

type Operation = { responses: Record<string, { description: string }>; operationId: string; security: unknown[] };
const document = openApiDocument() as {
  paths: Record<string, Record<string, Operation>>;
  servers: { url: string }[];
};

test("every status of a call's problems is documented with its codes", () => {
  for (const call of CALLS) {
    const { responses } = document.paths[call.path]![call.method]!;
    for (const code of problemsOf(call)) expect(responses[PROBLEMS[code].status]?.description).toContain(code);
    for (const { status } of call.answers) expect(responses[status]).toBeDefined();
  }
});
test("every public problem belongs to a call, except those for unknown addresses and methods", () => {
  const documented = new Set(CALLS.flatMap(problemsOf));
  const missing = (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => !documented.has(code));
  expect(missing).toEqual(["not_found", "method_not_allowed"]);
});
test("every call belongs to one task", () => {
  expect(TASKS.flatMap(({ calls }) => calls).sort()).toEqual(CALLS.map(({ id }) => id).sort());
});
test("extra members of problems and what an Idempotency-Key does are documented", () => {
  const { properties } = (document as unknown as { components: { schemas: { Problem: { properties: object } } } })
    .components.schemas.Problem;
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(["model_status", "training", "stage_code"]));
  const create = JSON.stringify(document.paths["/v0/models"]!.post);
  expect(["creates nothing", "stage_code", "ISO 8601", "1 or 0"].filter((words) => !create.includes(words))).toEqual(
    [],
  );
});
test("bodies are described by the schemas that check them", () => {
  const rank = JSON.stringify(document.paths["/v0/models/{model_name}/rank"]!.post);
  for (const field of ["user_id", "interactions", "item_id", "retrieval", "exclude_seen"])
    expect(rank).toContain(`"${field}"`);
  expect(rank).toContain('"maximum":500');
  expect(JSON.stringify(document.paths["/v0/models"]!.post)).toContain("connector_configs");
});
test.each([
  [
    "rank",
    [
      "$eq $ne $gt $gte $lt $lte $in $nin $all $exists $near $not $and $or $nor",
      "16 KiB",
      "8 levels",
      "256 tests",
      "1000 values",
    ],
  ],
  ["rank", ["1 to 256 bytes", '"maxLength":256', '"maxItems":500']],
  ["", ["postgres://user@host:5432/database", "sslmode", "sslrootcert", "project_id", '"location":"shop/*.csv"']],
  [
    "",
    [
      "@once, @hourly, @daily, @weekly",
      "five fields",
      "64 KiB",
      '"maxLength":65536',
      "positive_from",
      '"CategoryList"',
    ],
  ],
])("rules that JSON Schema cannot express are written in the description (%#)", (of, words) => {
  const { post } = document.paths[`/v0/models${of && `/{model_name}/${of}`}`]!;
  const { requestBody } = post as unknown as { requestBody: unknown };
  const text = JSON.stringify(requestBody);
  expect(words.filter((word) => !text.includes(word))).toEqual([]);
});
test("all calls but those of monitors need a key, operation ids are distinct, and the server is the document's", () => {
  const operations = Object.entries(document.paths).flatMap(([path, all]) =>
    Object.values(all).map((one) => ({ path, one })),
  );
  for (const { path, one } of operations)
    expect(one.security.length).toBe(/^\/v0\/(models|users|events|live|health)/.test(path) ? 1 : 0);
  expect(new Set(operations.map(({ one }) => one.operationId)).size).toBe(operations.length);
  expect(document.servers).toEqual([{ url: "/" }]);
});
test("it has no undefined values", () => expect(JSON.parse(JSON.stringify(document))).toEqual(document));
