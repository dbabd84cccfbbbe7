import { z } from "zod";
import { Descriptor } from "./manifest.ts";

/** States of a model as its customer sees them. */
export const ModelStatus = z.enum(["SCHEDULING", "FETCHING", "TRAINING", "DEPLOYING", "ACTIVE", "ERROR", "DESTROYING"]);
export type ModelStatus = z.infer<typeof ModelStatus>;

/**
 * The only mutable object of a model. It names the version that an edge serves; without one, the status decides the edge's error. It is
 * replaced with If-Match, so that of two concurrent trainers only one succeeds. `DESTROYING` is the tombstone of a deleted model, which
 * is answered like an unknown one.
 */
export const LivePointer = z
  .strictObject({
    format: z.literal(1),
    status: ModelStatus,
    /** The live version; null until the first one is published. Never null if the status is ACTIVE. */
    live: z.strictObject({ version: z.string().max(64), manifest: Descriptor }).nullable(),
    /** RFC 3339 UTC. */
    updated_at: z.string().max(40),
  })
  .refine((pointer) => pointer.status !== "ACTIVE" || pointer.live !== null, {
    path: ["live"],
    message: "must name a version when the status is ACTIVE",
  });
export type LivePointer = z.infer<typeof LivePointer>;
export type Live = NonNullable<LivePointer["live"]>;

/**
 * A name may have models one after another: the next is made when the one before is deleted. Which of them a live version
 * is of, a parameter of its manifest's media type says: `first`, the model's first version. Workers refuse a pointer with
 * any new field, but take every media type. Models that are older than the parameter have none, and never get one.
 */
export const MANIFEST_TYPE = "application/vnd.shortlist.manifest+json";
const FIRST = "; first=";
const MEDIA_TYPE_CHARACTERS_MAX = 100;

/** What `version` is served as in place of `before`; null for a model's first one. */
export function liveAfter(before: Live | null, version: string, manifest: Descriptor): Live {
  const media_type = before?.manifest.media_type ?? `${MANIFEST_TYPE}${FIRST}${version}`;
  return { version, manifest: { ...manifest, media_type: media_type.slice(0, MEDIA_TYPE_CHARACTERS_MAX) } };
}

export const areOfOneModel = (a: Live, b: Live): boolean => firstOf(a) === firstOf(b);
const firstOf = ({ manifest }: Live) => manifest.media_type.split(FIRST)[1];
