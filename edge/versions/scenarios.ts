import { fittingPart, requireScenarioName, Scenario, scenarioKey, scenarioNotFound } from "../../shared/scenario.ts";
import { type ReadAccess, unreadableAs } from "../reading/artifact-reader.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import type { LoadedVersion } from "./load-version.ts";
import { snapshotOf } from "./snapshot-of-version.ts";

export type Scenarios = {
  /** The parts of a scenario that fit a version. Throws Problem scenario_not_found, artifact_unavailable. */
  fitting(loaded: LoadedVersion, name: string, access: ReadAccess): Promise<ReturnType<typeof fittingPart>>;
};

const SCENARIOS_CACHED_MAX = 2000;
const KEPT_MS = 5 * 60_000;

/** Caches scenarios as live pointers are cached, so that a change is visible as soon as a new version would be. */
export function scenarios(cacheMs: number): Scenarios {
  const cache = refreshedCache<Scenario>(
    { freshMs: cacheMs, servableMs: 2 * cacheMs, keptMs: KEPT_MS, absentMs: 0 },
    SCENARIOS_CACHED_MAX,
  );
  return {
    async fitting(loaded, name, access) {
      const { customer, modelName } = loaded.target;
      const key = scenarioKey(customer, modelName, requireScenarioName(name));
      const found = await cache
        .get(key, () => access.reader.json(key, Scenario.strip()), access)
        .catch(unreadableAs("artifact_unavailable", "The scenario cannot be read right now"));
      if (found === undefined) throw scenarioNotFound(name);
      const { snapshot, release } = snapshotOf(loaded);
      try {
        return fittingPart(found, snapshot);
      } finally {
        release();
      }
    },
  };
}
