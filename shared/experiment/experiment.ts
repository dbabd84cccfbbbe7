/** Experiments: which of several lists is better, judged by what people do (`PUT /v0/models/{model_name}/experiment`). */
import * as z from "zod";
import { ModelName } from "../model-spec.ts";
import { Goal } from "./goal.ts";

export const ARMS_MIN = 2;
export const ARMS_MAX = 5;
const SHARES_TOLERANCE = 1e-6;

const Arm = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/, "must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"),
  share: z.number().gt(0).lt(1).meta({ description: "The fraction of the users who get this arm." }),
  version: z.string().max(64).optional().meta({ description: "A version of the model. Default: the live one." }),
  scenario: ModelName.optional().meta({ description: "The scenario of calls that name none." }),
  strategy: z
    .literal("popular")
    .optional()
    .meta({ description: "Popular items instead of personal ones: what does the model earn in all?" }),
});

/** The body of `PUT …/experiment`. The first arm is what the others are compared with. */
export const Experiment = z
  .strictObject({
    name: ModelName,
    arms: z.array(Arm).min(ARMS_MIN).max(ARMS_MAX),
    goal: Goal,
    guard: Goal.optional().meta({ description: "What must not get worse. An arm that harms it is worse." }),
    sample: z.number().min(0.001).max(1).optional().meta({
      description:
        "The fraction of the users who are counted, for very many users: each costs a row. Everybody gets an arm all the same. Default: 1.",
    }),
  })
  .refine(({ arms }) => new Set(arms.map(({ name }) => name)).size === arms.length, {
    path: ["arms"],
    message: "must have different names",
  })
  .refine(({ arms }) => Math.abs(arms.reduce((sum, { share }) => sum + share, 0) - 1) <= SHARES_TOLERANCE, {
    path: ["arms"],
    message: "must have shares that add up to 1",
  })
  .meta({
    examples: [
      {
        name: "diversity",
        arms: [
          { name: "now", share: 0.5 },
          { name: "varied", share: 0.5, scenario: "varied" },
        ],
        goal: { type: "purchase", within_hours: 24 },
      },
    ],
  });
export type Experiment = z.infer<typeof Experiment>;

/** The body of `DELETE …/experiment`. */
export const EndExperiment = z.strictObject({
  keep: z.string().max(40).optional().meta({
    description:
      "The arm that becomes permanent: its version is activated, and its scenario becomes that of calls that name none. Absent: everything stays.",
  }),
});
