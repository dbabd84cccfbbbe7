import { z } from "zod";
import { Descriptor } from "./manifest.ts";

/** States of a model as its customer sees them. */
export const ModelStatus = z.enum(["SCHEDULING", "FETCHING", "TRAINING", "DEPLOYING", "ACTIVE", "ERROR", "DESTROYING"]);
export type ModelStatus = z.infer<typeof ModelStatus>;

/**
 * The one mutable object of a model: what an edge serves, and what it answers when it cannot. It is swapped with
 * If-Match, so that two trainers cannot both win. `DESTROYING` is the tombstone: answered like an unknown model.
 */
export const LivePointer = z
  .strictObject({
    format: z.literal(1),
    status: ModelStatus,
    /** The live version; null until the first one is published. Never null when ACTIVE. */
    live: z.strictObject({ version: z.string().max(64), manifest: Descriptor }).nullable(),
    /** RFC 3339 UTC. */
    updated_at: z.string().max(40),
  })
  .refine((pointer) => pointer.status !== "ACTIVE" || pointer.live !== null, {
    path: ["live"],
    message: "must name a version when the status is ACTIVE",
  });
export type LivePointer = z.infer<typeof LivePointer>;
