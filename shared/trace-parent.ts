/** The header `traceparent` of W3C Trace Context, by which a caller's trace finds the lines of the log. */
const TRACE_PARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The id of the caller's trace, 32 hexadecimal digits; undefined if there is no header, or not in its form. */
export const traceIdIn = (header: string | null | undefined): string | undefined =>
  TRACE_PARENT.exec(header ?? "")?.[1];
