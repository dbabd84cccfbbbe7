/** What small data are given at most: more changes nothing. */
const SECONDS_LEAST = 900;
/** A trained network learns from each interaction some twenty times, for the choice and once more on all data. */
const SECONDS_PER_INTERACTION = 4.5e-3;

/**
 * Seconds for choosing a model: a quarter of an hour for little data, more for more, where networks begin to pay.
 *
 * @param secondsMax What the operator allows.
 */
export const fitSeconds = (interactions: number, secondsMax: number): number =>
  Math.min(secondsMax, Math.max(SECONDS_LEAST, Math.round(SECONDS_PER_INTERACTION * interactions)));
