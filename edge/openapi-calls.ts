import * as z from "zod";
import {
  EraseRequest,
  ITEM_IDS_MAX,
  MERGE_BODY_BYTES_MAX,
  MergeBody,
  RANK_BODY_BYTES_MAX,
  RANK_LIMIT_DEFAULT,
  RANK_LIMIT_MAX,
  RankBody,
  SimilarBody,
} from "../shared/api.ts";
import { EVENTS_BODY_BYTES_MAX, EventsBody } from "../shared/events/event.ts";
import { PERSON_IDS_MAX } from "../shared/events/merges.ts";
import { HealthReport } from "../shared/health.ts";
import {
  BASKET_MAX,
  BASKET_MEANING,
  OFFSET_MAX,
  OFFSET_MEANING,
  RankListFields,
  RELATION_MEANING,
  SEEN_MEANING,
  SimilarFields,
  STRATEGY_MEANING,
} from "../shared/list-fields.ts";
import { ModelName } from "../shared/model-spec.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { Detail, RETURN_MAX } from "../shared/shaping-fields.ts";
import { BATCH_CALLS } from "./openapi-batches.ts";
import { answer, at, BODY_FAULTS, type Call, FILTER_FAULTS, header, query, required } from "./openapi-call.ts";
import { EXPERIMENT_CALLS } from "./openapi-experiments.ts";
import { ITEM_CALLS } from "./openapi-items.ts";
import { MANAGEMENT_CALLS } from "./openapi-management.ts";
import {
  Erased,
  EventsAnswer,
  EventsOfUser,
  Health,
  IdInList,
  IdInQuery,
  ItemIds,
  Live,
  Merged,
  RankedItems,
} from "./openapi-schemas.ts";

const RANK_FAULTS: readonly ProblemCode[] = [
  "events_unavailable",
  "limit_out_of_range",
  "model_not_found",
  "model_not_active",
  "scenario_not_found",
  "user_record_unavailable",
  "overloaded",
];
const RANKED = answer(
  200,
  z.union([ItemIds, RankedItems]),
  "Item ids, most relevant first; with `return`, an object. Fewer items than `limit`, or none, are a normal answer.",
);
const SCENARIO = query("scenario", ModelName, "A scenario, whose fields are the defaults of this call.");
const USER = query("user_id", IdInQuery, "The user's id, as in the model's data.");
const ITEM = query("item_id", IdInQuery, "The item's id. Either this or `item_ids` is required.");
const BASKET = query(
  "item_ids",
  z
    .array(IdInList)
    .min(1)
    .max(BASKET_MAX)
    .meta({ examples: [["i3", "i8"]] }),
  `${BASKET_MEANING} Ids that contain a comma need a body.`,
);
const RELATION = query("relation", SimilarFields.relation.unwrap(), RELATION_MEANING);
const Limit = z.int().min(1).max(RANK_LIMIT_MAX).default(RANK_LIMIT_DEFAULT);
const LIMIT = query("limit", Limit, "The largest number of ids.");
const OFFSET = query("offset", z.int().min(0).max(OFFSET_MAX).default(0), OFFSET_MEANING);
const SESSION = query("session_id", IdInQuery, "Who an anonymous caller is, for experiments.");
const SEEN = query("seen", RankListFields.seen.unwrap(), SEEN_MEANING);
const STRATEGY = query("strategy", RankListFields.strategy.unwrap(), STRATEGY_MEANING);
const RETURN = query(
  "return",
  z
    .array(Detail)
    .max(RETURN_MAX)
    .meta({ examples: [["scores", "reasons"]] }),
  "Any of scores, metadata, reasons and history, separated by commas. The answer is then an object.",
);
const ITEM_IDS = query(
  "item_ids",
  z
    .array(IdInList)
    .min(1)
    .max(ITEM_IDS_MAX)
    .meta({ examples: [["i3", "i8"]] }),
  "Only these items are ranked, also those that the user has seen. Ids that contain a comma need a body.",
);
const ERASED = answer(202, Erased, "From the time `honoured_by` on, no edge uses stored data of the user.");

export const CALLS: readonly Call[] = [
  {
    ...at("get", "/v0/models/{model_name}/rank", "rankByQuery"),
    summary: "Ranks items for a user",
    description:
      "Without user_id, and for a user that the model does not know, the answer is popular items. Items that the user has seen are " +
      "left out. A model whose only connector is Events answers from its first positive event on: before its first version with the " +
      "items of the most users, counted seconds ago, which have no attributes.",
    scope: "rank",
    parameters: [USER, SESSION, LIMIT, OFFSET, SEEN, STRATEGY, RETURN, SCENARIO, ITEM_IDS],
    answers: [RANKED],
    problems: ["invalid_parameter", "unknown_field", ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/models/{model_name}/rank", "rankByBody"),
    summary: "Ranks items for a user, a session or both, among those that match a retrieval query",
    description:
      "`interactions` are the user's latest positive interactions, oldest first. `retrieval` is a query over item attributes, in a " +
      "subset of MongoDB's query language.",
    scope: "rank",
    body: { schema: RankBody, bytesMax: RANK_BODY_BYTES_MAX, isRequired: false },
    answers: [RANKED],
    problems: [...BODY_FAULTS, "too_many_interactions", ...FILTER_FAULTS, ...RANK_FAULTS],
  },
  {
    ...at("get", "/v0/models/{model_name}/similar_items", "similarByQuery"),
    summary: "Lists items similar to an item or a basket, or chosen together with them",
    description: "With user_id, items that this user has seen are left out. The items asked for are never in the list.",
    scope: "rank",
    parameters: [ITEM, BASKET, RELATION, USER, LIMIT, OFFSET, RETURN, SCENARIO],
    answers: [RANKED],
    problems: ["invalid_parameter", "missing_field", "unknown_field", "item_not_found", ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/models/{model_name}/similar_items", "similarByBody"),
    summary:
      "Lists items similar to an item or a basket, or chosen together with them, among those that match a retrieval query",
    description:
      "Similar are the items that the model favours more than usual after this item. Items that nobody has chosen yet get items with " +
      "the same attribute values. With `relation` together, the list is of items that were chosen in addition.",
    scope: "rank",
    body: { schema: SimilarBody, bytesMax: RANK_BODY_BYTES_MAX, isRequired: true },
    answers: [RANKED],
    problems: [...BODY_FAULTS, "item_not_found", ...FILTER_FAULTS, ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/events", "postEvents"),
    summary: "Stores what users have done",
    description:
      "Events are durable before the answer. A request with a fault is refused as a whole. The user's next rank call, at any edge, has " +
      "the events in its history and leaves out seen items, if the model listens to them (`schema.interaction.events`). Repeating a " +
      "request within a week counts nothing twice if the events have an `event_id`, or the request has the header Idempotency-Key. " +
      "Events of erased users are not stored.",
    scope: "events",
    parameters: [
      header(
        "idempotency-key",
        z.string().max(255),
        "Gives ids to events without `event_id`: the key and the position.",
      ),
    ],
    body: { schema: EventsBody, bytesMax: EVENTS_BODY_BYTES_MAX, isRequired: true },
    answers: [
      answer(
        200,
        EventsAnswer,
        "All events are stored. `duplicates` were stored before and are not counted as accepted.",
      ),
    ],
    problems: [...BODY_FAULTS, "events_unavailable", "overloaded"],
  },
  {
    ...at("get", "/v0/users/{user_id}/events", "viewUserEvents"),
    summary: "Shows a user's recent events, the newest first",
    description:
      "At most 500 of the events that are live or at most eight days old, also those of ids that were merged. Older ones are part of the " +
      "models that have learnt them.",
    scope: "manage",
    answers: [answer(200, EventsOfUser, "Events.")],
    problems: ["unknown_field", "events_unavailable"],
  },
  {
    ...at("post", "/v0/users/{user_id}/merge", "mergeUsers"),
    summary: "Says that two ids are one person",
    description:
      "From the next call on, the events of `from` count as the user's, whenever they arrive: in lists for either id, in every later " +
      "training, and when the user is erased. So a shop calls this when an anonymous visitor logs in. A person has at most " +
      `${PERSON_IDS_MAX} ids. Ids that are one person already stay so: repeating the call or merging in a circle changes nothing, and ` +
      "nothing undoes a merge. Ids of erased users are not merged. Models without `schema.interaction.events` are not affected. With a " +
      "key that requires signed user ids, both are signed.",
    scope: "events",
    parameters: [
      header("x-from-signature", z.string(), "The signature of `from`, for keys that require signed user ids."),
    ],
    body: { schema: MergeBody, bytesMax: MERGE_BODY_BYTES_MAX, isRequired: true },
    answers: [
      answer(200, Merged, "`user_id` is the end of the chain of merges. `changed` is false if nothing was stored."),
    ],
    problems: [...BODY_FAULTS, "quota_exceeded", "events_unavailable"],
  },
  {
    ...at("get", "/v0/live", "viewLive"),
    summary: "Shows what happened in the last hour, minute by minute",
    description:
      "Events by type, lists by strategy, refused calls by problem code, and the latency of lists. `*` stands for all types beyond 50. " +
      "Lists and refusals are counted by the isolates of the Worker, which send their counts after some seconds. `newest_events` are " +
      "at most 20.",
    scope: "manage",
    answers: [answer(200, Live, "The last hour.")],
    problems: ["unknown_field", "events_unavailable"],
  },
  {
    ...at("get", "/v0/health", "viewHealth"),
    summary: "Says what is wrong or will soon be, and what to do about it",
    description:
      "Each finding is `ok`, a `warning` or a `fault`, and has a remedy unless it is ok. It is what `npm run doctor` says, as far as a " +
      "running service can look at itself. A trainer that is away is a finding, too.",
    scope: "manage",
    answers: [answer(200, HealthReport, "All findings, also those that are ok.")],
    problems: ["unknown_field", "rate_limited"],
  },
  ...ITEM_CALLS,
  ...EXPERIMENT_CALLS,
  ...BATCH_CALLS,
  ...MANAGEMENT_CALLS,
  {
    ...at("post", "/v0/users/erase", "eraseGivenUser"),
    summary: "Erases the user whose id is in the body, which may be any id",
    description:
      "The same as deleting `/v0/users/{user_id}`, also for the ids `.` and `..`, which cannot be sent in a path.",
    scope: "manage",
    body: required(EraseRequest),
    answers: [ERASED],
    problems: [...BODY_FAULTS, "events_unavailable"],
  },
  {
    ...at("delete", "/v0/users/{user_id}", "eraseUser"),
    summary: "Erases a user from all of the customer's models, for good",
    description:
      "The user is then ranked as an unknown user: at once where the call was made, everywhere within ten seconds. Every later " +
      "training leaves the user's rows out, even if the source still has them. Only a salted hash of the id is kept, to recognise " +
      "the user's rows. All ids that were merged with this one are erased too. Repeating the call changes nothing. An erasure cannot " +
      "be undone.",
    scope: "manage",
    answers: [ERASED],
    problems: ["unknown_field", "invalid_json", "body_too_large", "events_unavailable"],
  },
  {
    ...at("get", "/health/live", "live"),
    summary: "Says that the Worker runs",
    description: "Answers without reading anything.",
    scope: null,
    answers: [answer(200, Health, "The Worker runs.")],
    problems: [],
  },
  {
    ...at("get", "/health/ready", "ready"),
    summary: "Says whether models can be read",
    description: "Reads from the models' bucket.",
    scope: null,
    answers: [answer(200, Health, "Models can be read.")],
    problems: ["artifact_unavailable"],
  },
];
