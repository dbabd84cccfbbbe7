/** The calls of batches. */
import { BatchBody, BatchRecord } from "../shared/batch.ts";
import { answer, at, BODY_FAULTS, type Call, required } from "./openapi-call.ts";

const PATH = "/v0/models/{model_name}/batches";
const ONE = `${PATH}/{batch_id}`;

export const BATCH_CALLS: readonly Call[] = [
  {
    ...at("post", PATH, "createBatch"),
    summary: "Makes the lists of many users as files, or the users of some items",
    description:
      "The trainer makes the lists in the background, by the live version and the same rule as a rank call with this limit and scenario: " +
      "for the same history and hour they are the same, item by item. Events count as far as shards have exported them, about a minute " +
      "behind. With `items`, the answer is instead, for each item, the users who would want it most and have not seen it; scores compare " +
      "users by how far the item stands above the others for each. Users who are erased before the files are written are left out.",
    scope: "manage",
    body: required(BatchBody),
    answers: [answer(202, BatchRecord, "The batch waits or runs. Ask for it until its state is another one.")],
    problems: [...BODY_FAULTS, "model_not_found", "model_not_active", "scenario_not_found"],
  },
  {
    ...at("get", ONE, "viewBatch"),
    summary: "Shows how far a batch is, and the links to its files",
    description:
      "The files are there once the state is done. Whoever has a link can fetch the file, until a day after the end of the batch. " +
      "Then the files are deleted, and the record a week later.",
    scope: "manage",
    answers: [answer(200, BatchRecord, "The batch.")],
    problems: ["unknown_field", "model_not_found", "batch_not_found"],
  },
  {
    ...at("delete", ONE, "stopBatch"),
    summary: "Stops a batch",
    description: "A stopped batch has no files. A batch that is over stays as it is.",
    scope: "manage",
    answers: [answer(200, BatchRecord, "The batch.")],
    problems: ["unknown_field", "invalid_json", "body_too_large", "model_not_found", "batch_not_found"],
  },
];
