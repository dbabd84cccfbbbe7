export type Scalar = string | number | boolean | null;

/**
 * A checked retrieval query. Every operator of the language is reduced to two tests and and/or/not: `$eq` is `in` of one
 * value, `$ne` and `$nin` are `not in`, `$exists` is `not in [null]`, `$nor` is `not or`, `$all` is an `and` of `in`.
 * `pointer` says where in the request the test stood (RFC 6901).
 */
export type RetrievalQuery =
  | { readonly kind: "and" | "or"; readonly of: readonly RetrievalQuery[] }
  | { readonly kind: "not"; readonly of: RetrievalQuery }
  | { readonly kind: "in"; readonly attribute: string; readonly values: readonly Scalar[]; readonly pointer: string }
  | {
      readonly kind: "compare";
      readonly attribute: string;
      readonly operator: "$gt" | "$gte" | "$lt" | "$lte";
      readonly value: string | number;
      readonly pointer: string;
    };

/** Throws Problem invalid_filter or filter_too_large. `at` is the JSON pointer of the value in the request. */
export function parseRetrieval(_value: unknown, _at = "/retrieval"): RetrievalQuery {
  throw new Error("not built yet");
}
