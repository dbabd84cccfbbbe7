import { join } from "node:path";
import { casesOfSessions, type EvaluationCases } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import { readFiles } from "../../trainer/choose/files/read-files.ts";
import type { Protocol } from "../../trainer/choose/splits/choose-split.ts";
import { usersWithRows } from "../../trainer/choose/splits/sample-users.ts";
import { popularityOrder } from "../../trainer/choose/splits/validation.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { realDataFolder } from "../fixtures/real-data.ts";
import { SESSION_SET } from "./quality-sessions.ts";
import { prepare, QUALITY_TASKS, taskName } from "./quality-tasks.ts";

/** A training part to choose from, and the lists of the test part. */
export type ChoiceTask = {
  readonly protocol: Protocol;
  readonly k: number;
  readonly dataset: Dataset;
  readonly cases: EvaluationCases;
};

/** The task of this name among those of `quality`; undefined if there is none. */
export async function choiceTask(name: string): Promise<ChoiceTask | undefined> {
  if (name === `${SESSION_SET}.sessions`) return await sessionTask();
  const task = QUALITY_TASKS.find((one) => taskName(one) === name);
  if (!task) return undefined;
  const { dataset, cases } = await prepare(task, task.seeds[0]!);
  return { protocol: task.protocol, k: task.k, dataset, cases };
}

/** Every prefix of a test session predicts the next item; items of a prefix stay candidates. */
async function sessionTask(): Promise<ChoiceTask> {
  const folder = realDataFolder(SESSION_SET);
  const files = { train: join(folder, "train.csv.gz"), test: join(folder, "test.csv.gz"), areSessions: true };
  const { signal } = new AbortController();
  const { train, test } = await readFiles({ ...files, users: undefined, items: undefined, columns: {} }, signal);
  const order = popularityOrder(train, 0, 1);
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const cases = casesOfSessions({ ...test, items: test.items.map((item) => newIndex[item]!) }, { repeats: true });
  return { protocol: "sessions", k: 20, dataset: usersWithRows(reorderItems(train, order)), cases };
}
