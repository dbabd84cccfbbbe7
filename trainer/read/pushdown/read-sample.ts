import type { ModelSpec } from "../../../shared/model-spec.ts";
import { hasCode } from "../../stage/stage-error.ts";
import { interactionsBesideFits } from "../dataset/memory-budget.ts";
import { type ReadDataset, type ReadDatasetOptions, readDataset } from "../dataset/read-dataset.ts";
import { ACCEPTED, DISTINCT, type Facts, hashAt, relationSql } from "./relation.ts";
import type { PushedSource, Totals } from "./source-totals.ts";

/** The default capacity of a user's record. */
export const NEWEST_PER_USER = 500;

/**
 * The fraction of the capacity to fill. A catalog whose data do not fit is large as well, and a fit's memory grows with both: a third fewer
 * interactions lose less quality than a method that does not fit.
 */
const FILL_FRACTION = 2 / 3;
const ATTEMPTS = 5;

/**
 * A dataset of randomly sampled users with their newest interactions, as many as leave room for fits, and of all items.
 * Rejected rows are counted for the whole source elsewhere, so none of the sample's rows end the run.
 */
export async function readSample(
  spec: ModelSpec,
  { source, totals }: { readonly source: PushedSource; readonly totals: Totals },
  options: ReadDatasetOptions,
): Promise<ReadDataset> {
  const fit =
    FILL_FRACTION * interactionsBesideFits(options.memoryMbMax ?? Number.POSITIVE_INFINITY, spec.schema.interaction);
  const catalogQuery = relationSql({ kind: "items", of: ACCEPTED }, source.table);
  for (let fraction = fit / totals.newest, attempt = 1; ; fraction /= 2, attempt++) {
    try {
      return await readDataset(sampleSpec(spec, source, sampleOf(fraction)), {
        ...options,
        catalogQuery,
        rejectedFractionMax: 1,
      });
    } catch (error) {
      if (!hasCode(error, "too_many_interactions") || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** The newest interactions of a fraction 0…1 of the users. A smaller sample is part of a larger one. */
export function sampleOf(fraction: number): Facts {
  const all = { kind: "newest", of: DISTINCT, perUser: NEWEST_PER_USER } as const;
  if (fraction >= 1) return all;
  const below = hashAt(Math.max(2 ** -32, fraction));
  return { ...all, of: { kind: "sampled", of: DISTINCT, below } };
}

/** The same specification with an interaction query that gives the facts. */
function sampleSpec(spec: ModelSpec, { table }: PushedSource, facts: Facts): ModelSpec {
  // A sample is not kept for the next run, which may have another one.
  const { incremental: _, label: given, ...interaction } = spec.schema.interaction;
  // The facts have what an event counts in the place of its type.
  const label = given.type === "Events" ? ({ type: "Weight", name: given.name } as const) : given;
  const query = relationSql({ kind: "rows", of: facts }, table);
  return {
    ...spec,
    schema: { ...spec.schema, interaction: { ...interaction, label, source: { ...interaction.source, query } } },
  };
}
