/** What a rank call asks: the fields that it sends, and those of its scenario where it sends none itself. */
import { type CallDefaults, queryOf, RANK_BODY_BYTES_MAX, type RankParameters } from "../../shared/api.ts";
import { parseJson } from "../../shared/parse-request.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { jsonTextOf, readBody, refuseQuery } from "../request-body.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { type Capacity, type Waiting, withPlace } from "./capacity.ts";

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
  loaded: LoadedVersion,
  { scenarios }: Pick<Isolate, "scenarios">,
  access: ReadAccess,
): Promise<{ readonly parameters: RankParameters; readonly scenarioHeaders: Readonly<Record<string, string>> }> {
  if (sent.scenario === undefined) return { parameters: sent, scenarioHeaders: {} };
  const { fields, problems } = await scenarios.fitting(loaded, sent.scenario, access);
  const parameters = parse(fields);
  if (problems.length === 0) return { parameters, scenarioHeaders: {} };
  const text = problems.join("; ").replaceAll(/[^\x20-\x7e]/g, "?"); // a header has no other characters
  return { parameters, scenarioHeaders: { "x-scenario-problem": text.slice(0, SCENARIO_PROBLEM_MAX) } };
}
