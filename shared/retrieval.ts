/** A checked retrieval query: the tree that parseRetrieval makes of a request's `retrieval` object. */
export type RetrievalQuery = { readonly kind: "and" | "or" | "nor"; readonly of: readonly RetrievalQuery[] };
