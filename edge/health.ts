import type { Context } from "hono";
import { Problem } from "../shared/problem.ts";
import type { EdgeEnv } from "./edge-env.ts";

/** Whether the Worker runs. */
export const live = (c: Context<EdgeEnv>): Response => c.json({ status: "live" });

/** Whether ranking can work: the bucket answers. Looked at most every two seconds, since anybody may ask. */
export async function ready(c: Context<EdgeEnv>): Promise<Response> {
  const { readiness, reader } = c.get("isolate");
  const probe = () =>
    reader.probe().then(
      () => "well" as const,
      () => "silent" as const,
    );
  if ((await readiness.get("bucket", probe, c.get("access"))) === "well") return c.json({ status: "ready" });
  throw new Problem("artifact_unavailable", "The models' bucket does not answer.", { retryAfterSeconds: 2 });
}
