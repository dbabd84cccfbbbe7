/** JSON Schema of the filter language. The bounds on its bytes, levels and tests are in the description of `retrieval`. */

import { KM_MAX } from "../place.ts";
import { FILTER_TESTS_MAX, FILTER_VALUES_MAX } from "./parse-filter.ts";
import { REFERENCE_NAME_MAX, REFERENCES } from "./references.ts";

/** Where the OpenAPI document has the schema of a query. */
export const RETRIEVAL_REF = "#/components/schemas/Retrieval";
const CONDITION = { $ref: "#/components/schemas/Condition" };

const REFERENCE = { $ref: "#/components/schemas/Reference" };

const CONSTANT = { type: ["string", "number", "boolean", "null"] };
const SCALAR = { anyOf: [CONSTANT, REFERENCE] };
const ORDERED = { anyOf: [{ type: ["string", "number"] }, REFERENCE] };
const VALUES = { anyOf: [{ type: "array", items: SCALAR, maxItems: FILTER_VALUES_MAX }, REFERENCE] };
const NAME = { type: "string", minLength: 1, maxLength: REFERENCE_NAME_MAX };
const within = (minimum: number, maximum: number) => ({ anyOf: [{ type: "number", minimum, maximum }, REFERENCE] });
const PLACE = { lat: within(-90, 90), lon: within(-180, 180) };
export const NEAR_SCHEMA = { type: "object", properties: PLACE, required: ["lat", "lon"], additionalProperties: false };
const CIRCLE = {
  type: "object",
  description: "Whether the attribute is a place at most this far away, along a great circle.",
  properties: { ...PLACE, km: within(0, KM_MAX) },
  required: ["lat", "lon", "km"],
  additionalProperties: false,
};
const QUERIES = { type: "array", items: { $ref: RETRIEVAL_REF }, minItems: 1, maxItems: FILTER_TESTS_MAX };

export const FILTER_SCHEMAS = {
  Retrieval: {
    type: "object",
    description: "All entries must hold. Names are item attributes or the item id column.",
    properties: { $and: QUERIES, $or: QUERIES, $nor: QUERIES, $not: { $ref: RETRIEVAL_REF } },
    patternProperties: { "^[^$]": CONDITION },
    additionalProperties: false,
  },
  Reference: {
    type: "object",
    description:
      "A value of the call: `$user` is an attribute in `user`, or `id` for the user's id; `$item` an attribute of the item that similar " +
      "items are asked for; `$context` a value in `context`. Without a value, `default` is used. Without either, the attribute's " +
      "condition fails for every item, under `$ne`, `$nin`, `$nor` and `$not` too, and the header x-missing-references names it.",
    properties: {
      ...Object.fromEntries(REFERENCES.map((name) => [name, NAME])),
      default: { anyOf: [CONSTANT, { type: "array", items: CONSTANT }] },
    },
    oneOf: REFERENCES.map((name) => ({ required: [name] })),
    additionalProperties: false,
  },
  Condition: {
    description: "A value that the attribute equals, or operators that must all hold.",
    anyOf: [
      CONSTANT,
      REFERENCE,
      {
        type: "object",
        properties: {
          ...Object.fromEntries(["$eq", "$ne"].map((name) => [name, SCALAR])),
          ...Object.fromEntries(["$gt", "$gte", "$lt", "$lte"].map((name) => [name, ORDERED])),
          ...Object.fromEntries(["$in", "$nin", "$all"].map((name) => [name, VALUES])),
          $exists: { type: "boolean" },
          $near: CIRCLE,
          $not: CONDITION,
        },
        additionalProperties: false,
      },
    ],
  },
};
