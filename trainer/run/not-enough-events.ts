import { connectorOf, EVENTS, type ModelSpec } from "../../shared/model-spec.ts";
import { StageError } from "../stage/stage-error.ts";

/** The code of a run that found too few events. The model is not in error: it trains when more events have come. */
export const NOT_ENOUGH_EVENTS = "not_enough_events";

/** What is missing, by the code of the check that a model of events alone does not pass yet. */
const MISSING: Readonly<Record<string, string>> = {
  no_rows: "No event that this model listens to has been stored yet",
  too_few_items: "All events are about one item, and ranking needs at least 2",
  all_labels_negative: "No event of a positive type has been stored yet",
  no_positives: "No event of a positive type has been stored yet",
};

/** The error as it is, or `not_enough_events` where interactions come from events and are too few. */
export function orNotEnough(error: unknown, spec: ModelSpec): unknown {
  if (!(error instanceof StageError) || !Object.hasOwn(MISSING, error.code)) return error;
  if (connectorOf(spec, spec.schema.interaction.source).type !== EVENTS) return error;
  const message = `${MISSING[error.code]}. The model trains by itself when more events have come.`;
  return new StageError(error.stage, NOT_ENOUGH_EVENTS, message, { cause: error });
}
