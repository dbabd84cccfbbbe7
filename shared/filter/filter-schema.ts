/** JSON Schema of the filter language. The bounds on its bytes, levels and tests are in the description of `retrieval`. */
import { FILTER_TESTS_MAX, FILTER_VALUES_MAX } from "./parse-filter.ts";

/** Where the OpenAPI document has the schema of a query. */
export const RETRIEVAL_REF = "#/components/schemas/Retrieval";
const CONDITION = { $ref: "#/components/schemas/Condition" };

const SCALAR = { type: ["string", "number", "boolean", "null"] };
const ORDERED = { type: ["string", "number"] };
const VALUES = { type: "array", items: SCALAR, maxItems: FILTER_VALUES_MAX };
const QUERIES = { type: "array", items: { $ref: RETRIEVAL_REF }, minItems: 1, maxItems: FILTER_TESTS_MAX };

export const FILTER_SCHEMAS = {
  Retrieval: {
    type: "object",
    description: "All entries must hold. Names are item attributes or the item id column.",
    properties: { $and: QUERIES, $or: QUERIES, $nor: QUERIES, $not: { $ref: RETRIEVAL_REF } },
    patternProperties: { "^[^$]": CONDITION },
    additionalProperties: false,
  },
  Condition: {
    description: "A value that the attribute equals, or operators that must all hold.",
    anyOf: [
      SCALAR,
      {
        type: "object",
        properties: {
          ...Object.fromEntries(["$eq", "$ne"].map((name) => [name, SCALAR])),
          ...Object.fromEntries(["$gt", "$gte", "$lt", "$lte"].map((name) => [name, ORDERED])),
          ...Object.fromEntries(["$in", "$nin", "$all"].map((name) => [name, VALUES])),
          $exists: { type: "boolean" },
          $not: CONDITION,
        },
        additionalProperties: false,
      },
    ],
  },
};
