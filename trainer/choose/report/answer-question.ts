import type { EvaluationAnswer, EvaluationQuestion } from "../../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import {
  attributeColumn,
  type Evaluated,
  itemGroups,
  itemSegments,
  userGroups,
  userSegments,
} from "./attribute-segments.ts";
import { type EvaluationDetail, hashOfUser } from "./evaluation-detail.ts";
import {
  fractionOfPlaces,
  hitsOf,
  maskOf,
  measuredBy,
  metricsOf,
  ownersOf,
  placesOf,
  recallOf,
  usersWho,
} from "./measured-lists.ts";

/** Seed of the intervals; fixed, so that the same question gets the same answer. */
const SEED = 1;

/**
 * Answers how well the given users are served, how well the given items are found, or either for each value of an attribute. Figures have
 * intervals, and ids that were not measured are listed. Throws Problem unknown_attribute.
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
  // First of all, so that an unknown attribute is refused before the metrics are computed.
  const column = attributeColumn(detail, (user_attribute ?? item_attribute)!, user_attribute ? "users" : "items");
  const everybody = Uint32Array.from(detail.users.keys());
  const figures = figuresOfUsers(detail, everybody);
  const lists = { detail, owners: ownersOf(detail, everybody), seed: SEED };
  const { groups, furtherValues } = user_attribute ? userGroups(column) : itemGroups(detail, column);
  const segments = user_attribute ? userSegments(lists, groups, figures) : itemSegments(lists, groups);
  return { ...answer(figures, lists.owners, []), segments, further_values: furtherValues };
}

const figuresOfUsers = (detail: EvaluationDetail, users: Uint32Array): Evaluated => ({
  chosen: metricsOf(detail, detail.chosen, users),
  popularity: metricsOf(detail, detail.popularity, users),
});

type Ids = readonly (string | number)[];

function answerForUsers(detail: EvaluationDetail, users: Uint32Array, missing: Ids): EvaluationAnswer {
  return answer(figuresOfUsers(detail, users), ownersOf(detail, users), missing);
}

function answerForItems(detail: EvaluationDetail, items: readonly ItemIndex[], missing: Ids): EvaluationAnswer {
  const isWanted = maskOf(detail, items);
  const who = usersWho(detail, isWanted);
  const recall = (lists: Int32Array) => recallOf(detail, hitsOf(detail, lists), isWanted, who);
  const shares = (lists: Int32Array) =>
    Object.fromEntries(detail.cutOffs.map((k) => [`@${k}`, fractionOfPlaces(placesOf(detail, lists, k), items)]));
  return {
    ...answer(
      { chosen: recall(detail.chosen), popularity: recall(detail.popularity) },
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

/** Positions of the lists of users with these ids; 7 and "7" are the same id. A user may have several lists, and all count. */
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
