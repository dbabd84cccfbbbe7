/**
 * `node test/golden/freeze-release.ts`, as the last step of a release: replaces the frozen release by this checkout. It is the only
 * golden content that is replaced.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { bundleEdge } from "../fixtures/edge-bundle.ts";
import { startEdge } from "../fixtures/edge-world.ts";
import { freezeService } from "./freeze-service.ts";
import {
  ANSWERS_FILE,
  answersOf,
  BUCKET_FILE,
  type FrozenAnswers,
  type FrozenBucket,
  type FrozenWorker,
  installedRuntime,
  publishRelease,
  RELEASE_FOLDER,
  WORKER_FILE,
} from "./release.ts";

const { wasm: _wasm, ...worker } = await bundleEdge();
const edge = await startEdge();
const key = await publishRelease(edge);
const objects: Record<string, string> = {};
for (const prefix of ["keys/", "models/", "customers/"])
  for await (const { key: name } of edge.store.list(prefix))
    objects[name] = Buffer.from((await edge.store.get(name))!.bytes).toString("base64");
const answers: FrozenAnswers = { runtime: installedRuntime(), answers: await answersOf(edge, key) };
await edge.stop();

mkdirSync(RELEASE_FOLDER, { recursive: true });
const compressed = (content: FrozenWorker | FrozenBucket) => brotliCompressSync(JSON.stringify(content));
writeFileSync(WORKER_FILE, compressed(worker));
writeFileSync(BUCKET_FILE, compressed({ key, objects }));
await freezeService();
writeFileSync(ANSWERS_FILE, `${JSON.stringify(answers, null, 2)}\n`);
