import type { ProblemCode } from "../../shared/problem.ts";

const LATER = "Repeat the call after the seconds in Retry-After.";

/** What a caller does about a problem. Its title in PROBLEMS is the cause. */
export const REMEDIES: Readonly<Record<ProblemCode, string>> = {
  invalid_json: "Send one JSON value in UTF-8.",
  invalid_parameter: "The pointers in `errors` name the values and what is allowed.",
  missing_field: "The pointers in `errors` name the fields to add.",
  unknown_field: "Check the spelling: `errors` names the field and often the one that was meant.",
  limit_out_of_range: "Send an integer from 1 to the maximum of this call.",
  too_many_interactions: "Send only the latest ones.",
  invalid_filter: "The pointer in `errors` shows the place in the query, with a hint.",
  unknown_attribute: "`errors` lists the attributes that the model has. The model's record shows them too.",
  filter_type_mismatch: "Compare numbers with numbers and text with text. `errors` names the attribute's type.",
  filter_too_large: "Use fewer values or conditions, or rank given candidates with `item_ids`.",
  missing_api_key: "Send the header x-api-key.",
  invalid_api_key: "Check that the key is complete. A new or revoked key takes up to a minute to be known everywhere.",
  insufficient_scope: "Use a key that was issued with this scope.",
  origin_not_allowed: "Call from a page of an origin that the key was issued for, or issue a key for this origin.",
  invalid_user_signature:
    "Let your back end sign the user's id with the key's secret, and send it as x-user-signature.",
  model_not_found: "Check the name: GET /v0/models lists your models.",
  item_not_found:
    "The item must be in the catalog of the live version. Send new items with their attributes (PATCH …/items), or train again.",
  scenario_not_found: "Check the name: GET …/scenarios lists them.",
  experiment_not_found: "Begin one with PUT …/experiment.",
  batch_not_found: "POST …/batches begins one and answers its id. A record is kept for a week.",
  version_not_found: "GET …/versions lists the versions that can be activated.",
  not_found: "Check the path against this page.",
  method_not_allowed: "The header Allow lists the methods of this address.",
  experiment_running: "End the experiment with DELETE …/experiment, and begin another one.",
  experiment_too_large: "Compare scenarios of one version, or train with smaller weights (SHORTLIST_WEIGHT_MB).",
  model_exists: "Choose another name, or change the model with PATCH. The name of a model being deleted is free soon.",
  model_not_active:
    "Wait until its first training has ended: the model's record shows the progress, or the failure. A model of events alone ranks from " +
    "its first positive event on.",
  model_busy: "Wait until the run has ended: the model's record shows it.",
  too_many_scenarios: "Delete one that is no longer used.",
  idempotency_conflict: "Use a new Idempotency-Key for each different request.",
  quota_exceeded: "Delete what is no longer needed, or ask the operator.",
  precondition_failed: "Somebody else has changed it. Read it again, and send its ETag.",
  body_too_large: "Send less at once. Each call states the size of its body.",
  uri_too_long: "Use the POST form of the call.",
  unsupported_media_type: "Send the header content-type: application/json.",
  rate_limited: LATER,
  internal: "Tell the operator the request_id. Repeating the call may help.",
  artifact_unavailable: LATER,
  user_record_unavailable: LATER,
  events_unavailable: `${LATER} Events with the same ids count once.`,
  items_unavailable: `${LATER} A change that was stored already does no harm when it is repeated with the same time.`,
  trainer_unavailable: `${LATER} Ranking goes on.`,
  overloaded: LATER,
};
