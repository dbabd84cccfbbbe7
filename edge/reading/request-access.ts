/** The parts of a request's context that work in the background needs: the clock, and the Workers runtime's `waitUntil`. */
export type RequestAccess = { readonly nowMs: () => number; readonly waitUntil: (work: Promise<unknown>) => void };
