/** Types of events, such as view and purchase, whose meaning is guessed. */

/** A column with more values than these is no column of types. */
export const TYPES_MAX = 20;

const UNWANTED = new RegExp(
  "remove|delete|dislike|unlike|downvote|return|refund|cancel|void|declin|fail|reject|abandon|skip|hide|report|unsubscribe|" +
    "annul|rembours|retour|storn|abgebroch|abgelehn|erstatt|devol|reembols|rechaz|recusad|rimbors|отмен|возврат|取消|退款|退货",
  "i",
);

/** The beginnings of words. */
const EVENT = new RegExp(
  "(?<![a-z])(view|click|add|buy|bought|purchas|order|checkout|like|fav|wish|save|rate|rating|review|play|watch|listen|read|" +
    "open|share|comment|search|impress|download|install|enrol|complet|deliver|ship|paid|pending|process|done)",
  "i",
);

/** Whether values are types of events or states of orders, and not such of items: `view` and `cancelled`, not `book`. */
export const areEvents = (values: readonly string[]): boolean =>
  values.some((value) => EVENT.test(value) || UNWANTED.test(value));

/** The types that were most likely wanted, the rarest first: what people do seldom says most. All of them, if no other remains. */
export function positiveTypes(types: readonly { readonly value: string; readonly rows: number }[]): string[] {
  const rarestFirst = types.filter(({ value }) => value !== "").toSorted((a, b) => a.rows - b.rows);
  const wanted = rarestFirst.filter(({ value }) => !UNWANTED.test(value));
  return (wanted.length > 0 ? wanted : rarestFirst).map(({ value }) => value);
}
