/** What callers want to do: the sections of the reference and the tags of the OpenAPI document. */
export type Task = {
  readonly name: string;
  readonly introduction: string;
  /** Operation ids, those that are used most first. */
  readonly calls: readonly string[];
};

export const TASKS: readonly Task[] = [
  {
    name: "Rank items",
    introduction: "Lists for users, sessions and items. Items that the user has seen are left out.",
    calls: ["rankByBody", "rankByQuery", "similarByBody", "similarByQuery"],
  },
  {
    name: "Send events",
    introduction: "What users do, as it happens. Their next list takes it into account, and so does the next training.",
    calls: ["postEvents", "viewUserEvents"],
  },
  {
    name: "Change items",
    introduction: "Prices, stock and withdrawn items as they change, at every edge within ten seconds.",
    calls: ["changeItems", "listItems", "viewItem"],
  },
  {
    name: "Create and train models",
    introduction:
      "A model reads its data from your own store. It ranks as soon as its first training has ended, " +
      "or from the first positive event on if it learns from events alone.",
    calls: ["createModel", "listModels", "viewModel", "changeModel", "trainModel", "deleteModel"],
  },
  {
    name: "Save scenarios",
    introduction: "Named defaults for rank calls, which change lists without a change of your code.",
    calls: ["listScenarios", "viewScenario", "storeScenario", "deleteScenario"],
  },
  {
    name: "Compare lists in an experiment",
    introduction: "Which version or scenario is better, judged by what users do. One may look at any time.",
    calls: ["putExperiment", "viewExperiment", "endExperiment"],
  },
  {
    name: "Export the lists of all users",
    introduction:
      "For tonight's e-mails, or to see whom to tell about an item: the lists of the edge as files, made by the trainer.",
    calls: ["createBatch", "viewBatch", "stopBatch"],
  },
  {
    name: "Judge and roll back",
    introduction: "How good the live version is, measured on interactions that it had not learnt from, and a way back.",
    calls: ["viewEvaluation", "evaluateGiven", "listRuns", "listVersions", "activateVersion"],
  },
  {
    name: "Merge and erase users",
    introduction: "For a visitor who logs in, and for a user who asks to be forgotten.",
    calls: ["mergeUsers", "eraseUser", "eraseGivenUser"],
  },
  {
    name: "Watch the service",
    introduction: "What is wrong, what happened in the last hour, and calls for monitors, which need no key.",
    calls: ["viewHealth", "viewLive", "live", "ready"],
  },
];

/** The task that a call belongs to. */
export const taskOf = (operationId: string): Task => TASKS.find(({ calls }) => calls.includes(operationId))!;
