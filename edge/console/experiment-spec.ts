/** The form of a new experiment, and the body that it sends. */
import type { Experiment, ExperimentReport } from "../client/shortlist.ts";
import { count, percent } from "./figures.ts";

/** Texts as they are typed. `version` and `scenario` are empty for what the model does without an experiment. */
export type ArmForm = {
  readonly name: string;
  readonly share: string;
  readonly version: string;
  readonly scenario: string;
  readonly isPopular: boolean;
};
export type ExperimentForm = {
  readonly name: string;
  readonly arms: readonly ArmForm[];
  readonly goal: string;
  readonly hours: string;
  /** Empty: nothing is guarded. */
  readonly guard: string;
  readonly guardHours: string;
};

export const ARMS_MAX = 5;
const HOURS = "24";

export const armForm = (name: string, share: number): ArmForm => ({
  ...{ name, share: String(share), version: "", scenario: "", isPopular: false },
});

/** @param types The types of events that the model listens to. */
export const newExperiment = (types: readonly string[]): ExperimentForm => ({
  name: "",
  arms: [armForm("now", 50), armForm("new", 50)],
  goal: types.includes("purchase") ? "purchase" : (types.at(-1) ?? ""),
  hours: HOURS,
  guard: "",
  guardHours: HOURS,
});

/** What the API takes; it says what of it is wrong. */
export function bodyOf({ name, arms, goal, hours, guard, guardHours }: ExperimentForm): Experiment {
  return {
    name,
    arms: arms.map(({ name, share, version, scenario, isPopular }) => ({
      name,
      share: Number((Number(share) / 100).toFixed(6)),
      ...(version && { version }),
      ...(scenario && { scenario }),
      ...(isPopular && { strategy: "popular" as const }),
    })),
    goal: { type: goal, within_hours: Number(hours) },
    ...(guard && { guard: { type: guard, within_hours: Number(guardHours) } }),
  };
}

/** Why the form cannot be sent yet; undefined if it can. */
export function missingOf({ name, arms, goal }: ExperimentForm): string | undefined {
  const sum = arms.reduce((total, { share }) => total + Number(share), 0);
  if (Math.abs(sum - 100) > 1e-3) return `The shares add up to ${Number(sum.toFixed(2))} %, not to 100 %.`;
  if (new Set(arms.map((arm) => arm.name)).size < arms.length) return "The arms need different names.";
  return name === "" || goal === "" ? "Name the experiment and its goal." : undefined;
}

export type Arm = ExperimentReport["arms"][number];
export type Lift = NonNullable<Arm["lift"]>;

/** What the users of an arm get. */
export function contentOf({ version, scenario, strategy }: Pick<Arm, "version" | "scenario" | "strategy">): string {
  const parts = [
    strategy && "popular items",
    version && `version ${version}`,
    scenario && `scenario ${scenario}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "as without the experiment";
}

/** A relative difference with its sign, such as "+4.2 %". */
export const change = (value: number): string => `${value > 0 ? "+" : ""}${percent(value, 1).replace(/^-/, "−")}`;

/** The conclusion in a sentence. */
export function conclusionOf({ verdict, arms, goal }: ExperimentReport): string {
  const [first, ...others] = arms;
  const named = (wanted: Arm["verdict"]) => others.filter((arm) => arm.verdict === wanted).map(({ name }) => name);
  const are = (names: readonly string[]) => `${names.join(" and ")} ${names.length === 1 ? "is" : "are"}`;
  if (verdict === "better") return `${are(named("better"))} better than ${first!.name}: more users reach ${goal.type}.`;
  if (verdict === "worse") return `${are(named("worse"))} worse than ${first!.name}.`;
  if (verdict === "no_difference") return `There is no difference from ${first!.name} of more than 5 %.`;
  if (verdict === "sample_ratio_mismatch") return "Nothing can be concluded: users are not divided as the shares say.";
  const worse = named("worse");
  return worse.length > 0
    ? `${are(worse)} worse than ${first!.name}; the others have no verdict yet.`
    : "There is no verdict yet.";
}

/** What is missing until a lift of 5 % would be detected. */
export function timeLeftOf({ users_to_detect_5_percent, days_to_detect_5_percent }: ExperimentReport): string {
  if (users_to_detect_5_percent === null) return "known after 25 users of the first arm have reached the goal";
  if (users_to_detect_5_percent === 0) return "there are users enough";
  const users = `${count(users_to_detect_5_percent)} more users of each arm`;
  return days_to_detect_5_percent === null
    ? users
    : `${users}, about ${durationOf(days_to_detect_5_percent)} at the pace so far`;
}

function durationOf(days: number): string {
  if (days >= 2) return `${count(Math.ceil(days))} days`;
  const hours = Math.ceil(24 * days);
  return hours === 1 ? "an hour" : `${hours} hours`;
}

/** The arm that a click on "End" suggests to keep: the best one that is better than the first; "" for none. */
export function suggestedArm({ verdict, arms }: ExperimentReport): string {
  if (verdict !== "better") return "";
  const better = arms.filter((arm) => arm.verdict === "better" && mayBeKept(arm));
  return better.sort((a, b) => b.lift!.value - a.lift!.value)[0]?.name ?? "";
}

/** Popular items cannot take the model's place. */
export const mayBeKept = ({ strategy }: Pick<Arm, "strategy">): boolean => strategy === null;
