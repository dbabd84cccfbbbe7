/**
 * The lists that an evaluation report stands on, user by user: what questions about given users or items are answered from. It
 * names users, so it stays with the trainer; the report itself names none.
 */
import { deserialize, serialize } from "node:v8";
import { z } from "zod";
import { FormatError } from "../../shared/assert.ts";
import type { EvaluationAnswer, EvaluationQuestion, MeasuredMean } from "../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { type PackedStrings, packStrings, stringAt } from "../../shared/packed-strings.ts";
import { bootstrapMeans } from "./bootstrap.ts";
import type { Evaluation } from "./evaluate.ts";
import { toMeasured } from "./judged.ts";
import { METRICS, type MetricName } from "./metrics.ts";
import type { Validation } from "./validation.ts";

const FORMAT = 1;

const int32s = z.custom<Int32Array>((value) => value instanceof Int32Array, "must be 32-bit integers");
const uint32s = z.custom<Uint32Array>((value) => value instanceof Uint32Array, "must be 32-bit unsigned integers");
const uint8s = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes");
const Packed = z.strictObject({ bytes: uint8s, start: uint32s });

const DetailFile = z
  .strictObject({
    format: z.literal(FORMAT),
    cutOffs: z.array(z.int().positive()).min(1).max(20),
    listLength: z.int().positive(),
    /** Users that lists were made for; empty text where nobody can be named. */
    userIds: Packed, // [userCount]
    itemIds: Packed, // [itemCount]
    /** Item indices, best first; −1 where a list ended. */
    chosen: int32s, // [userCount * listLength]
    popularity: int32s, // [userCount * listLength]
    /** User u's are relevant[relevantStart[u]] … relevant[relevantStart[u + 1] − 1]. */
    relevantStart: uint32s, // [userCount + 1]
    relevant: int32s,
  })
  .refine(
    ({ userIds, listLength, chosen, popularity, relevantStart, relevant }) =>
      chosen.length === (userIds.start.length - 1) * listLength &&
      popularity.length === chosen.length &&
      relevantStart.length === userIds.start.length &&
      relevantStart.at(-1) === relevant.length,
    "its arrays do not fit each other",
  );
export type EvaluationDetail = z.infer<typeof DetailFile>;

/** The lists of the chosen model and of popularity, for the users that the report measured. */
export function evaluationDetail(
  { dataset, split }: Validation,
  chosen: Evaluation,
  popularity: Evaluation,
): EvaluationDetail {
  const relevant: number[] = [];
  const relevantStart = new Uint32Array(chosen.positions.length + 1);
  const userIds: string[] = [];
  for (const [i, at] of chosen.positions.entries()) {
    const user = split.cases.userAt(at);
    userIds.push(user === undefined ? "" : stringAt(dataset.userIds, user));
    relevant.push(...split.cases.caseAt(at).relevant);
    relevantStart[i + 1] = relevant.length;
  }
  return {
    format: FORMAT,
    cutOffs: [...chosen.cutOffs],
    listLength: chosen.listLength,
    userIds: packStrings(userIds),
    itemIds: dataset.itemIds,
    chosen: chosen.lists,
    popularity: popularity.lists,
    relevantStart,
    relevant: Int32Array.from(relevant),
  };
}

/** Bytes of a file of this trainer: V8's serialisation of the arrays. */
export const encodeDetail = (detail: EvaluationDetail): Uint8Array => serialize(detail);

/** Throws FormatError for anything that encodeDetail did not write. */
export function decodeDetail(bytes: Uint8Array): EvaluationDetail {
  let value: unknown;
  try {
    value = deserialize(bytes);
  } catch (cause) {
    throw new FormatError("The evaluation's lists cannot be read: not a file of this trainer.", { cause });
  }
  const parsed = DetailFile.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new FormatError(`The evaluation's lists cannot be read: ${parsed.error.issues[0]?.message}.`);
}

/** How well the given users are served, or the given items found, with intervals. Ids that were not measured are told. */
export function answerQuestion(detail: EvaluationDetail, question: EvaluationQuestion, seed = 1): EvaluationAnswer {
  if ("user_ids" in question) {
    const { found, missing } = lookUp(detail.userIds, question.user_ids);
    const users = Uint32Array.from(found).sort();
    const judge = (lists: Int32Array) => metricsOf(detail, lists, users);
    return answer(judge(detail.chosen), judge(detail.popularity), { users: users.length, missing, seed });
  }
  const { found, missing } = lookUp(detail.itemIds, question.item_ids);
  const isAsked: ReadonlySet<ItemIndex> = new Set(found as ItemIndex[]);
  const users = usersWho(detail, isAsked);
  const judge = (lists: Int32Array) => recallOf(detail, lists, { users, isAsked });
  const shown = {
    chosen: shareShown(detail, detail.chosen, isAsked),
    popularity: shareShown(detail, detail.popularity, isAsked),
  };
  return {
    ...answer(judge(detail.chosen), judge(detail.popularity), { users: users.length, missing, seed }),
    share_shown: shown,
  };
}

/** By metric and cut-off, one value per user. */
type Values = ReadonlyMap<string, Float64Array>;
type About = { readonly users: number; readonly missing: readonly (string | number)[]; readonly seed: number };

function answer(chosen: Values, popularity: Values, { users, missing, seed }: About): EvaluationAnswer {
  const lift = new Map(
    [...chosen].map(([name, own]) => [name, own.map((value, i) => value - popularity.get(name)![i]!)]),
  );
  return {
    users,
    not_measured: [...missing],
    chosen: measuredBy(chosen, seed),
    popularity: measuredBy(popularity, seed),
    lift: measuredBy(lift, seed),
    share_shown: null,
  };
}

function measuredBy(values: Values, seed: number): Record<string, MeasuredMean> {
  const intervals = bootstrapMeans([...values.values()], { seed });
  return Object.fromEntries([...values.keys()].map((name, i) => [name, toMeasured(intervals[i]!)]));
}

/** Positions of ids among packed ones; the same for 7 and "7". */
function lookUp(packed: PackedStrings, ids: readonly (string | number)[]) {
  const wanted = new Map(ids.map((id) => [String(id), id]));
  const found: number[] = [];
  for (let at = 0; at < packed.start.length - 1; at++) {
    if (wanted.size === 0) break;
    const id = stringAt(packed, at);
    if (wanted.delete(id)) found.push(at);
  }
  return { found, missing: [...wanted.values()] };
}

const relevantOf = ({ relevant, relevantStart }: EvaluationDetail, user: number): readonly ItemIndex[] =>
  Array.from(relevant.subarray(relevantStart[user]!, relevantStart[user + 1]!)) as ItemIndex[];

const listOf = ({ listLength }: EvaluationDetail, lists: Int32Array, user: number): readonly ItemIndex[] =>
  Array.from(lists.subarray(user * listLength, (user + 1) * listLength)).filter((item) => item >= 0) as ItemIndex[];

function metricsOf(detail: EvaluationDetail, lists: Int32Array, users: Uint32Array): Values {
  const values = new Map<string, Float64Array>();
  for (const k of detail.cutOffs) {
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const metric = METRICS[name];
      const of = (user: number) => metric(listOf(detail, lists, user), new Set(relevantOf(detail, user)), k);
      values.set(`${name}@${k}`, Float64Array.from(users, of));
    }
  }
  return values;
}

type Asked = { readonly users: Uint32Array; readonly isAsked: ReadonlySet<ItemIndex> };

function recallOf(detail: EvaluationDetail, lists: Int32Array, { users, isAsked }: Asked): Values {
  const of = (user: number, k: number) => {
    const relevant = new Set(relevantOf(detail, user).filter((item) => isAsked.has(item)));
    return METRICS.recall(listOf(detail, lists, user), relevant, k);
  };
  return new Map(detail.cutOffs.map((k) => [`recall@${k}`, Float64Array.from(users, (user) => of(user, k))]));
}

/** Users who chose one of the items. */
function usersWho(detail: EvaluationDetail, isAsked: ReadonlySet<ItemIndex>): Uint32Array {
  const users = Uint32Array.from({ length: detail.relevantStart.length - 1 }, (_, user) => user);
  return users.filter((user) => relevantOf(detail, user).some((item) => isAsked.has(item)));
}

function shareShown(detail: EvaluationDetail, lists: Int32Array, isAsked: ReadonlySet<ItemIndex>) {
  const shares = detail.cutOffs.map((k) => {
    let [asked, places] = [0, 0];
    for (const [at, item] of lists.entries()) {
      if (item < 0 || at % detail.listLength >= k) continue;
      places++;
      if (isAsked.has(item as ItemIndex)) asked++;
    }
    return [`@${k}`, places === 0 ? null : asked / places] as const;
  });
  return Object.fromEntries(shares);
}
