import type { ModelStatus } from "./live-pointer.ts";
import type { RankRequest } from "./rank.ts";

export const RANK_LIMIT_DEFAULT = 15;
export const RANK_LIMIT_MAX = 500;
export const SESSION_MAX = 500;
export const LIST_LIMIT_DEFAULT = 50;
export const LIST_LIMIT_MAX = 100;

/** A rank request as sent: everything but the time. */
export type RankParameters = Omit<RankRequest, "nowSeconds">;

/** `GET …/rank?user_id=&limit=`. Throws Problem. */
export function parseRankQuery(_query: URLSearchParams): RankParameters {
  throw new Error("not built yet");
}

/** `POST …/rank`. Throws Problem. */
export function parseRankBody(_body: unknown): RankParameters {
  throw new Error("not built yet");
}

export type ListParameters = {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly status: ModelStatus | undefined;
};

/** `GET /v0/models?limit=&cursor=&status=`. Throws Problem. */
export function parseListQuery(_query: URLSearchParams): ListParameters {
  throw new Error("not built yet");
}
