/** The headers that every response has. */
export const commonHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  "x-request-id": requestId,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});
