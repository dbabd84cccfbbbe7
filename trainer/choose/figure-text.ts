/** A figure in a sentence, such as `0.0647`. */
export const four = (value: number | null): string => (value === null ? "unknown" : value.toFixed(4));

/** A difference in a sentence, such as `+0.0012`. */
export const signed = (value: number | null): string =>
  value === null ? four(value) : `${value < 0 ? "−" : "+"}${four(Math.abs(value))}`;
