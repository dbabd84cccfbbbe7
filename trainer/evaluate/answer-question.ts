import type { EvaluationAnswer, EvaluationQuestion } from "../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { type PackedStrings, stringAt } from "../../shared/packed-strings.ts";
import { attributeSegments } from "./attribute-segments.ts";
import { type EvaluationDetail, hashOfUser } from "./evaluation-detail.ts";
import { measuredBy, metricsOf, recallOf, shareShown, usersWho, type Values } from "./measured-lists.ts";

/**
 * How well the given users are served, the given items found, or either for each value of an attribute; with intervals. Ids that
 * were not measured are told. Throws Problem unknown_attribute.
 */
export function answerQuestion(detail: EvaluationDetail, question: EvaluationQuestion, seed = 1): EvaluationAnswer {
  const { user_ids, item_ids, user_attribute, item_attribute } = question;
  if (user_ids) {
    const { found, missing } = usersOf(detail, user_ids);
    return answerForUsers(detail, found, { missing, seed });
  }
  if (item_ids) {
    const { found, missing } = itemsOf(detail.itemIds, item_ids);
    return answerForItems(detail, found, { missing, seed });
  }
  const everybody = Uint32Array.from(detail.users.keys());
  const whole = answerForUsers(detail, everybody, { missing: [], seed });
  const about = { of: user_attribute ? ("users" as const) : ("items" as const), seed };
  const { segments, furtherValues } = attributeSegments(detail, (user_attribute ?? item_attribute)!, about);
  return { ...whole, segments, further_values: furtherValues };
}

type Asked = { readonly missing: readonly (string | number)[]; readonly seed: number };

function answerForUsers(detail: EvaluationDetail, users: Uint32Array, asked: Asked): EvaluationAnswer {
  const judge = (lists: Int32Array) => metricsOf(detail, lists, users);
  return answer(judge(detail.chosen), judge(detail.popularity), { users: users.length, ...asked });
}

function answerForItems(detail: EvaluationDetail, items: readonly ItemIndex[], asked: Asked): EvaluationAnswer {
  const isAsked: ReadonlySet<ItemIndex> = new Set(items);
  const users = usersWho(detail, isAsked);
  const judge = (lists: Int32Array) => recallOf(detail, lists, { users, isAsked });
  const shown = {
    chosen: shareShown(detail, detail.chosen, isAsked),
    popularity: shareShown(detail, detail.popularity, isAsked),
  };
  return {
    ...answer(judge(detail.chosen), judge(detail.popularity), { users: users.length, ...asked }),
    share_shown: shown,
  };
}

type About = Asked & { readonly users: number };

function answer(chosen: Values, popularity: Values, { users, missing, seed }: About): EvaluationAnswer {
  const lift = new Map(
    [...chosen].map(([name, own]) => [name, own.map((value, i) => value - popularity.get(name)![i]!)]),
  );
  return {
    users,
    not_measured: [...missing],
    chosen: measuredBy(chosen, { seed }),
    popularity: measuredBy(popularity, { seed }),
    lift: measuredBy(lift, { seed }),
    share_shown: null,
    segments: null,
    further_values: 0,
  };
}

/** Positions of the users with these ids; the same for 7 and "7". Sessions have no name, so each list of a user counts. */
function usersOf({ salt, users }: EvaluationDetail, ids: readonly (string | number)[]) {
  const wanted = new Map(ids.map((id) => [hashOfUser(salt, String(id)), id]));
  const found = Uint32Array.from(users.keys()).filter((at) => wanted.has(users[at]!));
  for (const at of found) wanted.delete(users[at]!);
  return { found, missing: [...wanted.values()] };
}

function itemsOf(itemIds: PackedStrings, ids: readonly (string | number)[]) {
  const wanted = new Map(ids.map((id) => [String(id), id]));
  const found: ItemIndex[] = [];
  for (let at = 0; at < itemIds.start.length - 1; at++) {
    if (wanted.size === 0) break;
    if (wanted.delete(stringAt(itemIds, at))) found.push(at as ItemIndex);
  }
  return { found, missing: [...wanted.values()] };
}
