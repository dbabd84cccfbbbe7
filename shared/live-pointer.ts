import * as z from "zod";
import { NextCanary, RunningCanary, RunningExperiment } from "./experiment/running.ts";
import { ExtensionOfVersion } from "./items/extension-file.ts";
import { type Descriptor, Live, StoredMeanings } from "./manifest.ts";

/** States of a model as its customer sees them. */
export const ModelStatus = z.enum(["SCHEDULING", "FETCHING", "TRAINING", "DEPLOYING", "ACTIVE", "ERROR", "DESTROYING"]);
export type ModelStatus = z.infer<typeof ModelStatus>;

/**
 * The only mutable object of a model. It names the version that an edge serves; without one, the status decides the edge's error. It is
 * replaced with If-Match, so that of two concurrent trainers only one succeeds. `DESTROYING` is the tombstone of a deleted model, which
 * is answered like an unknown one.
 */
export const LivePointer = z
  .object({
    format: z.literal(1),
    status: ModelStatus,
    /** The live version; null until the first one is published. Never null if the status is ACTIVE. */
    live: Live.nullable(),
    /** Only for a model without a version whose only connector is Events: an edge ranks by live counts of its positive events. */
    events: z.object({ meanings: StoredMeanings }).optional(),
    /** The running experiment. */
    experiment: RunningExperiment.optional(),
    /** The new version that serves a share of the users, and the one that waits for its end. */
    canary: RunningCanary.optional(),
    next_canary: NextCanary.optional(),
    /** The users who lastingly do without the model, as the first arm, and those whom they are compared with. */
    holdout: RunningExperiment.optional(),
    /** The scenario of calls that name none. */
    default_scenario: z.string().max(63).optional(),
    /** How the live version scores new items. Absent, or of another version: it does not. */
    extension: ExtensionOfVersion.optional(),
    /**
     * The live version's manifest, so that an edge which loads the version makes one trip less. It holds only if it has the manifest's
     * digest. Absent: too large, or written by an earlier release.
     */
    manifest_json: z.string().optional(),
    /** RFC 3339 UTC. */
    updated_at: z.string().max(40),
  })
  .refine((pointer) => pointer.status !== "ACTIVE" || pointer.live !== null, {
    path: ["live"],
    message: "must name a version when the status is ACTIVE",
  });
export type LivePointer = z.infer<typeof LivePointer>;

/** A pointer with its manifest is at most this large. Edges refuse a pointer of more than 64 KiB. */
export const POINTER_WITH_MANIFEST_BYTES_MAX = 48 * 1024;

export const MANIFEST_TYPE = "application/vnd.shortlist.manifest+json";
const FIRST = "; first=";
const MEDIA_TYPE_CHARACTERS_MAX = 100;

/**
 * The pointer's entry for `version`, which replaces `before`; null for a model's first version.
 *
 * A name can be used again after its model was deleted, so a live version says which model it belongs to, by that model's first version.
 * This release reads it from `first_version`, else from the parameter `first` of the manifest's media type. It writes only the parameter:
 * earlier Workers refuse a pointer with an unknown field. Once all Workers read the field, it is written and the parameter is dropped.
 */
export function liveAfter(before: Live | null, version: string, manifest: Descriptor): Live {
  const first = before === null ? version : firstVersionOf(before);
  const media_type = first === undefined ? MANIFEST_TYPE : `${MANIFEST_TYPE}${FIRST}${first}`;
  return { version, manifest: { ...manifest, media_type: media_type.slice(0, MEDIA_TYPE_CHARACTERS_MAX) } };
}

export const areOfOneModel = (a: Live, b: Live): boolean => firstVersionOf(a) === firstVersionOf(b);

/** What all versions of a model have in common, and no version of another model that had its name. Empty for models without a mark. */
export const markOf = (live: Live): string => firstVersionOf(live) ?? "";

/** Undefined for models that are older than this mark. They never get one. */
const firstVersionOf = ({ first_version, manifest }: Live) => first_version ?? manifest.media_type.split(FIRST)[1];
