/** Named defaults for rank calls: one JSON object for each, beside the live pointer and independent of versions. */
import type * as z from "zod";
import { CommonFields, parseRankBody } from "./api.ts";
import { clipped } from "./clipped.ts";
import { hasReference } from "./filter/references.ts";
import { RankListFields } from "./list-fields.ts";
import { prefixOf } from "./manifest.ts";
import { ModelName } from "./model-spec.ts";
import { parseWith } from "./parse-request.ts";
import { Problem } from "./problem.ts";
import { presentValues } from "./rank/reference-values.ts";
import { compileRequest } from "./rank.ts";
import type { KnownNames } from "./snapshot.ts";

/** The fields of a call that a scenario may preset. */
export const Scenario = CommonFields.omit({ user_id: true, offset: true, scenario: true, user: true, context: true })
  .extend(RankListFields)
  .partial()
  .meta({
    examples: [
      { limit: 20, retrieval: { stock: true }, max_per_value: { brand: 2 } },
      { boosts: [{ retrieval: { sale: true }, by: 0.5 }], diversity: 0.3, pinned: ["i8"] },
      { retrieval: { brand: { $nin: { $user: "hidden_brands", default: [] } } } },
    ],
  });
export type Scenario = z.input<typeof Scenario>;

export const SCENARIOS_MAX = 100;
export const SCENARIO_BYTES_MAX = 32_768;

export const scenariosPrefix = (customer: string, model: string) => `${prefixOf(customer, model)}scenarios/`;
export const scenarioKey = (customer: string, model: string, name: string) =>
  `${scenariosPrefix(customer, model)}${name}.json`;

/** Throws Problem scenario_not_found, also for a name that no scenario can have. */
export function requireScenarioName(name: string): string {
  if (ModelName.safeParse(name).success) return name;
  throw scenarioNotFound(name);
}

export const scenarioNotFound = (name: string) =>
  new Problem("scenario_not_found", `The model has no scenario with the name ${JSON.stringify(clipped(name, 64))}.`);

/** A checked scenario, as it was sent. Throws Problem. */
export function parseScenario(body: unknown): Scenario {
  parseRankBody(body);
  parseWith(Scenario, body); // refuses the fields that only a call has
  return body as Scenario;
}

/**
 * Throws Problem if a scenario names an attribute that the version does not have, or compares it with another type. It is checked with
 * every reference absent and, if there are any, present.
 */
export const checkFits = (scenario: Scenario, version: KnownNames): void => void missingReferences(scenario, version);

/** Checks a scenario and returns the names of its references that have no default. */
function missingReferences(scenario: Scenario, version: KnownNames): ReadonlySet<string> {
  const request = { ...parseRankBody(scenario), nowSeconds: 0 };
  if (hasReference(scenario)) compileRequest(request, version, presentValues(version));
  return compileRequest(request, version).missing;
}

/** Stands for the boosts before the one that is checked, so that its error names the right place. */
const NO_BOOST = { retrieval: {}, by: 0 };

/**
 * The scenario without the parts that do not fit the version, and what is wrong with them.
 *
 * @param mayHave Whether a reference, such as `$user.country`, may have a value: parts that need one that never has are left out too.
 */
export function fittingPart(
  scenario: Scenario,
  version: KnownNames,
  mayHave: (reference: string) => boolean = () => true,
): { fields: Scenario; problems: string[] } {
  const problems: string[] = [];
  const fits = (part: Scenario): boolean => {
    try {
      const missing = [...missingReferences(part, version)].filter((reference) => !mayHave(reference));
      if (missing.length === 0) return true;
      problems.push(`/${Object.keys(part)[0]} needs ${missing.join(", ")}, which only calls have`);
      return false;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error.message);
      return false;
    }
  };
  const { strategy, retrieval, diversity, boosts, max_per_value: caps, ...fields } = scenario;
  return {
    fields: {
      ...fields,
      ...(strategy !== undefined && fits({ strategy }) && { strategy }),
      ...(retrieval !== undefined && fits({ retrieval }) && { retrieval }),
      ...(diversity !== undefined && fits({ diversity }) && { diversity }),
      ...(boosts && { boosts: boosts.filter((boost, i) => fits({ boosts: [...Array(i).fill(NO_BOOST), boost] })) }),
      ...(caps && {
        max_per_value: Object.fromEntries(
          Object.entries(caps).filter(([name, max]) => fits({ max_per_value: { [name]: max } })),
        ),
      }),
    },
    problems,
  };
}
