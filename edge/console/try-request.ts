/** The form of "Try it", and the rank request that it stands for. */
import type { ItemId, RankRequest, Scenario } from "../client/shortlist.ts";

export type Boost = { readonly retrieval: string; readonly by: number };

export type TryForm = {
  readonly user: string;
  readonly session: readonly ItemId[];
  /** Null for the default, which a scenario may set. */
  readonly limit: number | null;
  readonly scenario: string;
  /** JSON, or empty. */
  readonly retrieval: string;
  readonly boosts: readonly Boost[];
  readonly diversity: number;
  readonly exploration: number;
  /** The attribute of which at most `cap` items may have the same value; empty for none. */
  readonly capped: string;
  readonly cap: number;
  readonly excludeSeen: boolean;
};

export const EMPTY_FORM: TryForm = {
  user: "",
  session: [],
  limit: 10,
  scenario: "",
  retrieval: "",
  boosts: [],
  diversity: 0,
  exploration: 0,
  capped: "",
  cap: 2,
  excludeSeen: true,
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

/** The fields that differ from the defaults. A filter that is no JSON yet is left out. */
export function requestOf(form: TryForm): RankRequest {
  return {
    ...(form.user && { user_id: form.user }),
    ...(form.session.length > 0 && { interactions: form.session.map((item_id) => ({ item_id })) }),
    ...(form.scenario && { scenario: form.scenario }),
    ...scenarioOf(form),
  };
}

/** The fields that a scenario may preset. */
export function scenarioOf(form: TryForm): Scenario {
  const retrieval = objectIn(form.retrieval) ?? {};
  const boosts = form.boosts.flatMap(({ retrieval, by }) => {
    const object = objectIn(retrieval);
    return object && Object.keys(object).length > 0 ? [{ retrieval: object, by }] : [];
  });
  return {
    ...(form.limit !== null && { limit: form.limit }),
    ...(Object.keys(retrieval).length > 0 && { retrieval }),
    ...(boosts.length > 0 && { boosts }),
    ...(form.diversity > 0 && { diversity: form.diversity }),
    ...(form.exploration > 0 && { exploration: form.exploration }),
    ...(form.capped && { max_per_value: { [form.capped]: form.cap } }),
    ...(!form.excludeSeen && { exclude_seen: false }),
  };
}
