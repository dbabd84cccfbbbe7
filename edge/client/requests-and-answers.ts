/** The types of the API, from the schemas that check its requests and describe its answers. */
import type * as z from "zod";
import type * as api from "../../shared/api.ts";
import type * as batches from "../../shared/batch.ts";
import type * as evaluation from "../../shared/evaluation-report.ts";
import type * as events from "../../shared/events/event.ts";
import type * as experimentAnswers from "../../shared/experiment/answer.ts";
import type * as experiments from "../../shared/experiment/experiment.ts";
import type * as health from "../../shared/health.ts";
import type * as items from "../../shared/items/change-items.ts";
import type * as models from "../../shared/model-record.ts";
import type * as specs from "../../shared/model-spec.ts";
import type * as problems from "../../shared/problem.ts";
import type * as scenarios from "../../shared/scenario.ts";
import type * as experimentCalls from "../openapi-experiments.ts";
import type * as itemAnswers from "../openapi-items.ts";
import type * as answers from "../openapi-schemas.ts";

/** The compiler writes out what a function returns. So the declarations of the published package need neither zod nor the schemas. */
const types = () =>
  writtenOut<{
    RankRequest: z.input<typeof api.RankBody>;
    SimilarItemsRequest: Omit<z.input<typeof api.SimilarBody>, "item_id" | "item_ids"> &
      ({ item_id: string | number } | { item_ids: (string | number)[] });
    RankedItems: z.output<typeof answers.RankedItems>;
    Event: z.input<typeof events.Event>;
    UserEvents: z.output<typeof answers.EventsOfUser>;
    ItemChange: z.input<typeof items.ItemChange>;
    ChangeCounts: z.output<typeof itemAnswers.ItemsAnswer>;
    FoundItems: z.output<typeof itemAnswers.FoundItems>;
    ChangedItems: z.output<typeof itemAnswers.ChangedItems>;
    ShownItem: z.output<typeof itemAnswers.ShownItem>;
    MergedUser: z.output<typeof answers.Merged>;
    Live: z.output<typeof answers.Live>;
    HealthReport: z.output<typeof health.HealthReport>;
    Scenario: z.input<typeof scenarios.Scenario>;
    ScenarioList: z.output<typeof answers.Scenarios>;
    Experiment: z.input<typeof experiments.Experiment>;
    StartedExperiment: z.output<typeof experimentCalls.StartedExperiment>;
    ExperimentReport: z.output<typeof experimentAnswers.ExperimentAnswer>;
    EndedExperiment: z.output<typeof experimentCalls.EndedExperiment>;
    Batch: z.input<typeof batches.BatchBody>;
    BatchRecord: z.output<typeof batches.BatchRecord>;
    ModelSpec: z.input<typeof specs.ModelSpec>;
    ModelChange: z.input<typeof answers.Patch>;
    ModelRecord: z.output<typeof models.ModelRecord>;
    ModelList: z.output<typeof answers.List>;
    DeletedModel: z.output<typeof answers.Deleted>;
    DryRun: z.output<typeof answers.DryRun>;
    RunList: z.output<typeof answers.Runs>;
    VersionList: z.output<typeof answers.Versions>;
    EvaluationReport: z.output<typeof evaluation.EvaluationReport>;
    EvaluationQuestion: Omit<z.input<typeof evaluation.EvaluationQuestion>, "scenario">;
    EvaluationAnswer: z.output<typeof evaluation.EvaluationAnswer>;
    ScenarioAnswer: z.output<typeof evaluation.ScenarioAnswer>;
    ErasedUser: z.output<typeof answers.Erased>;
    ProblemCodes: Record<problems.ProblemCode, true>;
    ProblemPart: problems.ProblemPart;
  }>();
const writtenOut = <T>() => undefined as unknown as WrittenOut<T>;
type WrittenOut<T> = T extends readonly (infer Element)[]
  ? WrittenOut<Element>[]
  : T extends object
    ? { [Key in keyof T]: WrittenOut<T[Key]> }
    : T;
type Types = ReturnType<typeof types>;

export type ItemId = string | number;
export type RankRequest = Types["RankRequest"];
export type SimilarItemsRequest = Types["SimilarItemsRequest"];
export type RankedItems = Types["RankedItems"];
export type Event = Types["Event"];
export type UserEvents = Types["UserEvents"];
export type ItemChange = Types["ItemChange"];
export type ChangeCounts = Types["ChangeCounts"];
export type FoundItems = Types["FoundItems"];
export type ChangedItems = Types["ChangedItems"];
export type ShownItem = Types["ShownItem"];
export type MergedUser = Types["MergedUser"];
export type Live = Types["Live"];
export type HealthReport = Types["HealthReport"];
export type Scenario = Types["Scenario"];
export type ScenarioList = Types["ScenarioList"];
export type Experiment = Types["Experiment"];
export type StartedExperiment = Types["StartedExperiment"];
export type ExperimentReport = Types["ExperimentReport"];
export type EndedExperiment = Types["EndedExperiment"];
export type Batch = Types["Batch"];
export type BatchRecord = Types["BatchRecord"];
export type ModelSpec = Types["ModelSpec"];
export type ModelChange = Types["ModelChange"];
export type ModelRecord = Types["ModelRecord"];
export type ModelList = Types["ModelList"];
export type DeletedModel = Types["DeletedModel"];
export type DryRun = Types["DryRun"];
export type RunList = Types["RunList"];
export type VersionList = Types["VersionList"];
export type EvaluationReport = Types["EvaluationReport"];
export type EvaluationQuestion = Types["EvaluationQuestion"];
export type EvaluationAnswer = Types["EvaluationAnswer"];
export type ScenarioAnswer = Types["ScenarioAnswer"];
export type ErasedUser = Types["ErasedUser"];
export type ProblemPart = Types["ProblemPart"];
/** The request of a rank call whose answer is an object, because `return` is sent. */
export type Detailed<Request extends { return?: unknown }> = Request & { return: NonNullable<Request["return"]> };
/** The request of a rank call whose answer is a list of ids. A scenario may preset `return`. */
export type Bare<Request> = Request & { return?: undefined; scenario?: undefined };
/** A code of the service, or one of this client's own. */
export type ErrorCode =
  | keyof Types["ProblemCodes"]
  | "timeout"
  | "network"
  | "unexpected_answer"
  | "queue_full"
  | (string & {});
