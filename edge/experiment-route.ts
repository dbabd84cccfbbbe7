/** The calls of experiments. The users are counted in the shards, so the edge reports on an experiment. */
import type { Context } from "hono";
import { experimentReport, historyStepMs } from "../shared/experiment/report.ts";
import { experimentNotFound } from "../shared/experiment/running.ts";
import { requireScope } from "./auth.ts";
import { callShards, customerShards, eventsOrProblem } from "./events/call-shards.ts";
import { manage } from "./forward.ts";
import type { EdgeEnv } from "./isolate.ts";
import { rankAccess } from "./ranking/rank-call.ts";
import { refuseQuery } from "./request-body.ts";

/** `PUT` and `DELETE` of the same path: the trainer writes the live pointer, and this isolate reads it again for its next call. */
export async function changeExperiment(c: Context<EdgeEnv>): Promise<Response> {
  const answer = await manage(c);
  const model = { customer: c.get("caller")!.customer, modelName: c.req.param("model_name")! };
  c.get("isolate").pointers.invalidate(model, c.get("access").nowMs());
  return answer;
}

/** `GET /v0/models/{model_name}/experiment` */
export async function viewExperiment(c: Context<EdgeEnv>): Promise<Response> {
  const { customer } = c.get("caller")!;
  requireScope(c.get("caller")!, "manage");
  refuseQuery(c.req.url);
  const isolate = c.get("isolate");
  const access = rankAccess(c.get("access"), isolate);
  const modelName = c.req.param("model_name")!;
  const target = await isolate.pointers.liveVersion(customer, modelName, access);
  const experiment = target.live === null ? undefined : target.experiment;
  if (experiment === undefined) throw experimentNotFound(modelName);
  const nowMs = access.nowMs();
  const stepMs = historyStepMs(experiment, nowMs);
  const counts = await eventsOrProblem("The users of the experiment cannot be counted right now", async () => {
    const shards = await isolate.eventShards.all(customer, access);
    return (
      await callShards(customerShards(c), shards, access, (rpc) => rpc.exposures(experiment.salt, stepMs))
    ).flat();
  });
  return c.json(experimentReport(experiment, counts, nowMs));
}
