import * as z from "zod";
import { EventType } from "../events/event.ts";

/** Shards keep every event for eight days; an event may arrive a day late. */
export const GOAL_HOURS_MAX = 144;

/** What the lists of an arm are judged by. */
export const Goal = z
  .strictObject({
    type: EventType,
    within_hours: z.int().min(1).max(GOAL_HOURS_MAX).default(24).meta({
      description: "How long after the first list of the experiment an event of the user counts.",
    }),
  })
  .meta({ examples: [{ type: "purchase", within_hours: 24 }] });
export type Goal = z.infer<typeof Goal>;
