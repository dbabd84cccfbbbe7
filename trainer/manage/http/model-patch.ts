import * as z from "zod";
import type { Label } from "../../../shared/label.ts";
import { isObject, mergePatch } from "../../../shared/merge-patch.ts";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { parseWith, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";

/** The body of a PATCH: a JSON merge patch of the fields that may be changed. */
export const ModelPatch = z.strictObject({
  connector_configs: z.array(z.unknown()).optional(),
  // Not parsed here, which would drop names that the schema does not know: patchedSpec refuses them.
  schema: z.unknown().refine(isObject, "must be an object").optional(),
  train_schedule: z.string().nullable().optional(),
  train_after_events: z.unknown().optional(), // checked with the whole spec
  items_lag_hours: z.unknown().optional(), // checked with the whole spec
  objective: z.unknown().optional(), // checked with the whole spec
  canary: z.unknown().optional(), // checked with the whole spec
  holdout: z.unknown().optional(), // checked with the whole spec
});

/** Errors never show a connector's configuration: a password may be in the wrong place of it. */
export const HIDE_SOURCES = { hidden: "connector_configs" } as const;

/** The spec after the patch. Throws Problem when the result is not a whole spec, or the patch has unknown fields. */
export function patchedSpec(stored: ModelSpec, patch: z.infer<typeof ModelPatch>): ModelSpec {
  const spec = withoutFormerLabel(stored, patch);
  const next = parseWith(ModelSpec, mergePatch(spec, patch), HIDE_SOURCES); // throws with every fault of the result
  refuseUnknownFields(mergePatch(spec, patch, "kept"));
  return next;
}

/**
 * The spec without the fields of its label's type, if the patch gives the label another type: `{"type": "Binary"}` is then enough. A field
 * that the patch removes by null stays until then.
 */
function withoutFormerLabel(spec: ModelSpec, { schema }: z.infer<typeof ModelPatch>): ModelSpec {
  const { interaction } = schema ?? {};
  const label = isObject(interaction) ? interaction.label : undefined;
  const former = spec.schema.interaction.label;
  if (!isObject(label) || label.type === undefined || label.type === former.type) return spec;
  const kept = Object.entries(former).filter(([name]) => name === "name" || label[name] === null);
  const stripped = Object.fromEntries(kept) as Label;
  return { ...spec, schema: { ...spec.schema, interaction: { ...spec.schema.interaction, label: stripped } } };
}

/** A misspelt name with null would otherwise remove nothing, and nobody would notice. */
function refuseUnknownFields(spec: unknown): void {
  try {
    parseWith(ModelSpec, spec, HIDE_SOURCES);
  } catch (error) {
    const unknown = error instanceof Problem ? error.errors.filter(({ code }) => code === "unknown_field") : [];
    if (unknown.length > 0) throw problemOf(unknown);
  }
}
