export type SentCall = {
  readonly user_id: string | undefined;
  readonly limit: number;
  readonly interactions: readonly { readonly item_id: unknown }[];
};

/** One call of a deployed edge and what was seen of its answer. */
export type DeployedCall = {
  readonly ms: number;
  /** 0: no answer. */
  readonly status: number;
  readonly dataCentre: string;
  readonly version: string | null;
  /** The call waited neither for R2 nor for the data centre's cache, as far as the edge says. */
  readonly isWarm: boolean;
  /** The list, if there is one. */
  readonly items: readonly unknown[] | undefined;
  readonly faults: readonly string[];
};

/** What is wrong with an answer of status 200, whatever the model. */
export function faultsOf(sent: SentCall, status: number, body: unknown): string[] {
  if (status !== 200) return [];
  if (!Array.isArray(body)) return ["an answer is no list"];
  const items = body as readonly unknown[];
  const session = new Set(sent.interactions.map(({ item_id }) => item_id));
  return [
    ...(items.length > sent.limit ? [`a list has ${items.length} items, the limit is ${sent.limit}`] : []),
    ...(new Set(items).size < items.length ? ["a list has an item twice"] : []),
    ...(items.some((item) => session.has(item)) ? ["a list has an item of the session"] : []),
  ];
}
