import type { ModelSpec } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";
import { interactionsThatFit } from "../dataset/memory-shares.ts";
import { type ReadDataset, type ReadDatasetOptions, readDataset } from "../dataset/read-dataset.ts";
import type { PushedSource } from "./read-relation.ts";
import { DISTINCT, type Facts, relationSql } from "./relation.ts";
import type { Totals } from "./source-totals.ts";

/** As many as a user's record holds by default. */
export const NEWEST_PER_USER = 500;

/** Of what fits: users differ, and a sample may have a few heavy ones more than its share. */
const FILL = 0.9;
const ATTEMPTS = 5;

/**
 * Users by lot, each with the newest interactions, as many as a run's memory holds: the dataset that models are chosen
 * and fitted on. How many rows may be refused is judged of the whole source, of which these are the good ones.
 */
export async function readSample(
  spec: ModelSpec,
  { source, totals }: { readonly source: PushedSource; readonly totals: Totals },
  options: ReadDatasetOptions,
): Promise<ReadDataset> {
  const fit =
    FILL * interactionsThatFit(options.memoryMbMax ?? Number.POSITIVE_INFINITY, spec.schema.interaction.label.type);
  const catalogQuery = relationSql({ kind: "items", of: { kind: "accepted" } }, source.table);
  for (let share = fit / totals.newest, attempt = 1; ; share /= 2, attempt++) {
    try {
      return await readDataset(sampleSpec(spec, source, sampleOf(share)), {
        ...options,
        catalogQuery,
        rejectedShareMax: 1,
      });
    } catch (error) {
      const isTooLarge = error instanceof StageError && error.code === "too_many_interactions";
      if (!isTooLarge || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** The newest facts of a share 0…1 of the users; a smaller share is part of a larger one. */
export function sampleOf(share: number): Facts {
  const all = { kind: "newest", of: DISTINCT, perUser: NEWEST_PER_USER } as const;
  if (share >= 1) return all;
  const below = Math.max(1, Math.floor(share * 2 ** 32))
    .toString(16)
    .padStart(8, "0");
  return { ...all, of: { kind: "sampled", of: DISTINCT, below } };
}

/** The same specification, whose interaction query gives the facts. */
function sampleSpec(spec: ModelSpec, { table }: PushedSource, facts: Facts): ModelSpec {
  // Nothing of a sample is kept for the next run: another one may be larger.
  const { incremental: _, ...interaction } = spec.schema.interaction;
  const query = relationSql({ kind: "rows", of: facts }, table);
  return {
    ...spec,
    schema: { ...spec.schema, interaction: { ...interaction, source: { ...interaction.source, query } } },
  };
}
