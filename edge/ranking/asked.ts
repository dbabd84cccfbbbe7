/** What a rank call asks: the fields that it sends, and those of its scenario where it sends none itself. */
import { type CallDefaults, queryOf, RANK_BODY_BYTES_MAX, type RankParameters } from "../../shared/api.ts";
import { parseJson } from "../../shared/parse-request.ts";
import { Problem } from "../../shared/problem.ts";
import type { Scenario } from "../../shared/scenario.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { jsonTextOf, readBody, refuseQuery } from "../request-body.ts";
import { type Capacity, type Waiting, withPlace } from "./capacity.ts";
import type { VersionOfCall } from "./version-of-call.ts";

export type Asked = {
  /** The fields of the call itself. */
  readonly sent: RankParameters;
  /** Reads the call again, with defaults for the fields that it does not send. Throws Problem. */
  readonly parse: (defaults: CallDefaults) => RankParameters;
};

/** Reads what a request asks. Throws Problem. */
export type ReadAsked = (request: Request, call: Waiting, isolate: BodyRoom) => Promise<Asked>;

type BodyRoom = Capacity & Pick<Isolate, "rankBodies">;

/** Limit on the characters of x-scenario-problem. */
const SCENARIO_PROBLEM_MAX = 1000;

export const byQuery =
  (parse: (query: URLSearchParams, defaults?: CallDefaults) => RankParameters): ReadAsked =>
  async ({ url }) => {
    const query = queryOf(url);
    return { sent: parse(query), parse: (defaults) => parse(query, defaults) };
  };

/** No body is the same as an empty object. */
export const byBody =
  (parse: (body: unknown, defaults?: CallDefaults) => RankParameters): ReadAsked =>
  async (request, call, isolate) => {
    refuseQuery(request.url);
    const body = await withPlace(isolate.rankBodies, call, isolate, () => readBody(request, RANK_BODY_BYTES_MAX));
    const json = body.length === 0 ? {} : parseJson(jsonTextOf(body, request.headers.get("content-type")));
    return { sent: parse(json), parse: (defaults) => parse(json, defaults) };
  };

/**
 * The call with its scenario's fields as defaults. Parts that do not fit the version are left out, and a header says so.
 * Throws Problem scenario_not_found, artifact_unavailable.
 */
export async function withScenario(
  { sent, parse }: Asked,
  { loaded, choice, defaultScenario }: Pick<VersionOfCall, "loaded" | "choice" | "defaultScenario">,
  { scenarios }: Pick<Isolate, "scenarios">,
  access: ReadAccess,
): Promise<{ readonly parameters: RankParameters; readonly scenarioHeaders: Readonly<Record<string, string>> }> {
  const ofArm = choice.strategy ? { strategy: choice.strategy } : {};
  const preset = sent.similarTo === undefined ? (choice.scenario ?? defaultScenario) : undefined;
  const scenario = sent.scenario ?? preset;
  if (scenario === undefined) return { parameters: { ...sent, ...ofArm }, scenarioHeaders: {} };
  const { fields, problems } = await scenarios.fitting(loaded, scenario, access).catch((error: unknown) => {
    // A call that names no scenario does not fail because one was deleted.
    const isLost = sent.scenario === undefined && error instanceof Problem && error.code === "scenario_not_found";
    if (!isLost) throw error;
    return { fields: {} as Scenario, problems: [error.message] };
  });
  const { return: details, ...others } = fields;
  // A caller that names no scenario expects the answer in the form that it asks for.
  const defaults = sent.scenario === undefined ? others : { ...others, ...(details && { return: details }) };
  const parameters = { ...parse(defaults), scenario, ...ofArm };
  if (problems.length === 0) return { parameters, scenarioHeaders: {} };
  const text = problems.join("; ").replaceAll(/[^\x20-\x7e]/g, "?"); // a header has no other characters
  return { parameters, scenarioHeaders: { "x-scenario-problem": text.slice(0, SCENARIO_PROBLEM_MAX) } };
}
