/** The form of "Try it", and the rank request that it stands for. */
import type { ItemId, RankRequest, Scenario } from "../client/shortlist.ts";

export type Boost = {
  /** JSON of a filter; empty for a boost by an attribute. */
  readonly retrieval: string;
  readonly by: number;
  /** The other fields of a boost by an attribute, as the scenario has them. */
  readonly fields?: Readonly<Record<string, unknown>>;
};

/** At most so many items with the same value of an attribute. */
export type Cap = { readonly attribute: string; readonly times: number };
export const CAPS_MAX = 3;

export type TryForm = {
  readonly user: string;
  readonly session: readonly ItemId[];
  /** Null for the default, which a scenario may set. */
  readonly limit: number | null;
  /** How many items of the list come before: the pages before this one. */
  readonly offset: number;
  readonly scenario: string;
  /** Which list; empty for the default. */
  readonly strategy: string;
  /** What becomes of items that the user has seen; empty for the default. */
  readonly seen: string;
  /** What references in filter and boosts stand for: each JSON, or empty. */
  readonly userValues: string;
  readonly context: string;
  /** JSON, or empty. */
  readonly retrieval: string;
  readonly boosts: readonly Boost[];
  readonly diversity: number;
  readonly exploration: number;
  readonly caps: readonly Cap[];
  /** Item ids, separated by commas; empty for none. */
  readonly pinned: string;
  /** The ids of the only items to rank, as above. */
  readonly only: string;
  /** A whole number, or empty. */
  readonly seed: string;
  /** Whether the model's item ids are integers. */
  readonly integerIds: boolean;
  /** The name under which the settings are saved. */
  readonly name: string;
};

export const EMPTY_FORM: TryForm = {
  user: "",
  session: [],
  limit: 10,
  offset: 0,
  scenario: "",
  strategy: "",
  seen: "",
  userValues: "",
  context: "",
  retrieval: "",
  boosts: [],
  diversity: 0,
  exploration: 0,
  caps: [],
  pinned: "",
  only: "",
  seed: "",
  integerIds: false,
  name: "",
};

/** The object in a text of JSON; undefined if it is none. Empty text is the empty object. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The ids of a text. Ids that cannot be an integer stay texts, which the call refuses clearly. */
export function idsIn(text: string, integerIds: boolean): ItemId[] {
  const ids = text.split(",").flatMap((id) => id.trim() || []);
  return ids.map((id) => (integerIds && /^-?\d{1,15}$/.test(id) ? Number(id) : id));
}

/** The fields that differ from the defaults. What is no JSON yet is left out. */
export function requestOf(form: TryForm): RankRequest {
  const only = idsIn(form.only, form.integerIds);
  const valuesIn = (text: string) => {
    const values = objectIn(text) ?? {};
    return Object.keys(values).length > 0 && (values as NonNullable<RankRequest["context"]>);
  };
  const [user, context] = [valuesIn(form.userValues), valuesIn(form.context)];
  return {
    ...(form.user && { user_id: form.user }),
    ...(form.session.length > 0 && { interactions: form.session.map((item_id) => ({ item_id })) }),
    ...(form.scenario && { scenario: form.scenario }),
    ...scenarioOf(form),
    ...(form.offset > 0 && { offset: form.offset }),
    ...(user && { user }),
    ...(context && { context }),
    ...(only.length > 0 && { item_ids: only }),
  };
}

/** The fields that a scenario may preset. */
export function scenarioOf(form: TryForm): Scenario {
  const retrieval = objectIn(form.retrieval) ?? {};
  const boosts = form.boosts.flatMap(({ retrieval, by, fields }) => {
    if (fields) return [{ ...fields, by }];
    const object = objectIn(retrieval);
    return object && Object.keys(object).length > 0 ? [{ retrieval: object, by }] : [];
  });
  const pinned = idsIn(form.pinned, form.integerIds);
  return {
    ...(form.limit !== null && { limit: form.limit }),
    ...(Object.keys(retrieval).length > 0 && { retrieval }),
    ...(boosts.length > 0 && { boosts }),
    ...(form.diversity > 0 && { diversity: form.diversity }),
    ...(form.exploration > 0 && { exploration: form.exploration }),
    ...(form.exploration > 0 && form.seed && { seed: Number(form.seed) }),
    ...(form.caps.length > 0 && {
      max_per_value: Object.fromEntries(form.caps.map(({ attribute, times }) => [attribute, times])),
    }),
    ...(pinned.length > 0 && { pinned }),
    ...(form.strategy && { strategy: form.strategy as NonNullable<RankRequest["strategy"]> }),
    ...(form.seen && { seen: form.seen as NonNullable<RankRequest["seen"]> }),
  };
}

/** The form with the settings of the scenario that it names instead of its own. */
export function withScenario(form: TryForm, scenario: Scenario): TryForm {
  const { retrieval, boosts, max_per_value, exclude_seen, seed, pinned, limit, strategy } = scenario;
  const { user, session, only, integerIds, userValues, context } = form;
  const seen = exclude_seen === undefined ? "" : exclude_seen ? "exclude" : "include";
  return {
    ...EMPTY_FORM,
    ...{ user, session, only, integerIds, userValues, context, name: form.scenario },
    limit: limit ?? null,
    retrieval: retrieval ? JSON.stringify(retrieval) : "",
    boosts: (boosts ?? []).map(({ retrieval, by, ...fields }) =>
      retrieval ? { retrieval: JSON.stringify(retrieval), by } : { retrieval: "", by, fields },
    ),
    diversity: scenario.diversity ?? 0,
    exploration: scenario.exploration ?? 0,
    caps: Object.entries(max_per_value ?? {}).map(([attribute, times]) => ({ attribute, times })),
    pinned: (pinned ?? []).join(", "),
    seed: seed === undefined ? "" : String(seed),
    strategy: strategy ?? "",
    seen: scenario.seen ?? seen,
  };
}
