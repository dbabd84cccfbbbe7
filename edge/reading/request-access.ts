/** What a request lends to work that outlives it. */
export type RequestAccess = { readonly nowMs: () => number; readonly waitUntil: (work: Promise<unknown>) => void };
