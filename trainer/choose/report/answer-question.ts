import type { EvaluationAnswer, EvaluationQuestion } from "../../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import { attributeColumn, type Evaluated, itemSegments, userSegments } from "./attribute-segments.ts";
import { type EvaluationDetail, hashOfUser } from "./evaluation-detail.ts";
import {
  hitsOf,
  maskOf,
  measuredBy,
  metricsOf,
  ownersOf,
  placesOf,
  recallOf,
  shareOf,
  usersWho,
} from "./measured-lists.ts";

/** Of the intervals: the same question gets the same answer. */
const SEED = 1;

/**
 * How well the given users are served, the given items found, or either for each value of an attribute; with intervals. Ids that
 * were not measured are told. Throws Problem unknown_attribute.
 */
export function answerQuestion(detail: EvaluationDetail, question: EvaluationQuestion): EvaluationAnswer {
  const { user_ids, item_ids, user_attribute, item_attribute } = question;
  if (user_ids) {
    const { found, missing } = usersOf(detail, user_ids);
    return answerForUsers(detail, found, missing);
  }
  if (item_ids) {
    const { found, missing } = itemsOf(detail.itemIds, item_ids);
    return answerForItems(detail, found, missing);
  }
  // Before the metrics: an unknown attribute is told at once.
  const column = attributeColumn(detail, (user_attribute ?? item_attribute)!, user_attribute ? "users" : "items");
  const everybody = Uint32Array.from(detail.users.keys());
  const judged = usersToEvaluate(detail, everybody);
  const { segments, furtherValues } = user_attribute
    ? userSegments(detail, column, judged, SEED)
    : itemSegments(detail, column, SEED);
  const whole = answer(judged, ownersOf(detail, everybody), []);
  return { ...whole, segments, further_values: furtherValues };
}

const usersToEvaluate = (detail: EvaluationDetail, users: Uint32Array): Evaluated => ({
  chosen: metricsOf(detail, detail.chosen, users),
  popularity: metricsOf(detail, detail.popularity, users),
});

type Ids = readonly (string | number)[];

function answerForUsers(detail: EvaluationDetail, users: Uint32Array, missing: Ids): EvaluationAnswer {
  return answer(usersToEvaluate(detail, users), ownersOf(detail, users), missing);
}

function answerForItems(detail: EvaluationDetail, items: readonly ItemIndex[], missing: Ids): EvaluationAnswer {
  const isAsked = maskOf(detail, items);
  const who = usersWho(detail, isAsked);
  const judge = (lists: Int32Array) => recallOf(detail, hitsOf(detail, lists), isAsked, who);
  const shares = (lists: Int32Array) =>
    Object.fromEntries(detail.cutOffs.map((k) => [`@${k}`, shareOf(placesOf(detail, lists, k), items)]));
  return {
    ...answer(
      { chosen: judge(detail.chosen), popularity: judge(detail.popularity) },
      ownersOf(detail, who.users),
      missing,
    ),
    share_shown: { chosen: shares(detail.chosen), popularity: shares(detail.popularity) },
  };
}

function answer({ chosen, popularity }: Evaluated, owners: Uint32Array, missing: Ids): EvaluationAnswer {
  const lift = new Map(
    [...chosen].map(([name, own]) => [name, own.map((value, i) => value - popularity.get(name)![i]!)]),
  );
  const measured = measuredBy([chosen, popularity, lift], { seed: SEED, owners });
  return {
    users: new Set(owners).size,
    not_measured: [...missing],
    chosen: measured[0]!,
    popularity: measured[1]!,
    lift: measured[2]!,
    share_shown: null,
    segments: null,
    further_values: 0,
  };
}

/** Positions of the users with these ids; the same for 7 and "7". Sessions have no name, so each list of a user counts. */
function usersOf({ salt, users }: EvaluationDetail, ids: Ids) {
  const wanted = new Map(ids.map((id) => [hashOfUser(salt, String(id)), id]));
  const found = Uint32Array.from(users.keys()).filter((at) => wanted.has(users[at]!));
  for (const at of found) wanted.delete(users[at]!);
  return { found, missing: [...wanted.values()] };
}

function itemsOf(itemIds: PackedStrings, ids: Ids) {
  const wanted = new Map(ids.map((id) => [String(id), id]));
  const found: ItemIndex[] = [];
  for (let at = 0; at < itemIds.start.length - 1; at++) {
    if (wanted.size === 0) break;
    if (wanted.delete(stringAt(itemIds, at))) found.push(at as ItemIndex);
  }
  return { found, missing: [...wanted.values()] };
}
