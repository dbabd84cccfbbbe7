/**
 * The process of `load-judge.ts`. It publishes versions and checks answers, so that neither delays the calls. Arguments: the bucket
 * as JSON, and a work folder.
 */
import { createReadStream } from "node:fs";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";
import { buildVersion } from "../../trainer/publish/build-version.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../trainer/store/publish.ts";
import type { S3Options } from "../../trainer/store/s3-request.ts";
import { s3Store } from "../../trainer/store/s3-store.ts";
import { drawnWorld, HISTORY_MAX } from "./edge-scale-world.ts";
import { type Checker, openChecker } from "./load-check.ts";
import { type Answer, type FromJudge, type ToJudge, WORLD } from "./load-judge.ts";

const [bucket, workDirectory] = process.argv.slice(2) as [string, string];
setPriority(10);
const store = s3Store(JSON.parse(bucket) as S3Options);
const send = (message: FromJudge) => process.send?.(message);
const place = { customer: "acme", modelName: "scale" };
const worlds = [7, 8].map((seed) => drawnWorld({ ...WORLD, seed }));
const checkers = await Promise.all(worlds.map(openChecker));
const versions = new Map<string, Checker>();
let lastMs = Date.now();

async function publishWorld(which: number): Promise<void> {
  const { dataset, exported } = worlds[which]!;
  lastMs = Math.max(lastMs + 1, Date.now()); // versions sort by their time
  const createdAtMs = lastMs;
  if (versions.size === 0) await setStatus(store, place, { status: "SCHEDULING", nowMs: createdAtMs });
  const described = { itemIdColumn: "item_id", method: "similarity", historyMax: HISTORY_MAX };
  const built = await buildVersion({ ...place, ...described, createdAtMs, dataset, exported, workDirectory });
  versions.set(built.version, checkers[which]!);
  const { signal } = new AbortController();
  const nowMs = () => createdAtMs;
  await publish(built, new TextEncoder().encode("{}"), { store, nowMs, signal, progress: () => {} });
}

/** Runs after all calls: checking takes as much CPU time as answering, and would disturb the measurement. */
async function judgeAll(file: string): Promise<void> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { version, call, body } = JSON.parse(line) as Answer;
    const checker = versions.get(version);
    const ids = (JSON.parse(body) as (string | number)[]).map(String);
    const fault = checker ? await checker.faultOf(call, ids) : `version ${version} was never published`;
    if (fault !== undefined) send({ kind: "fault", fault: `${JSON.stringify(call)}: ${fault}` });
  }
  await Promise.all(checkers.map((checker) => checker.close()));
}

process.on("message", (message: ToJudge) => {
  if (message.kind === "publish")
    publishWorld(message.which).then(
      () => send({ kind: "published", fault: null }),
      (error: unknown) => send({ kind: "published", fault: String(error) }),
    );
  if (message.kind === "judge")
    void judgeAll(message.file).then(() => {
      send({ kind: "judged" });
      process.disconnect();
    });
});
send({ kind: "ready" });
