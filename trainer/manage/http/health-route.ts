import type { TrainerHealth } from "../../../shared/health.ts";
import type { Route } from "./app.ts";

/** The trainer's part of `GET /v0/health`, to which the edge adds its own. */
export const healthRoute = (reportOf: (customer: string) => Promise<TrainerHealth>): Route => ({
  path: "/v0/health",
  methods: { GET: async (c) => c.json(await reportOf(c.get("caller").customer)) },
});
