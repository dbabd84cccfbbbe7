import * as z from "zod";

export const EventsConfig = z.strictObject({ id: z.string().optional(), type: z.literal("Events") });
