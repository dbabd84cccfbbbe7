/**
 * The Worker on workerd outside Cloudflare (`npm run serve`). It is the same Worker: only the bindings differ. The bucket is any S3
 * store, and another process may have the Durable Objects.
 */
import * as z from "zod";
import type { Bindings } from "../env.ts";
import { EventShard as Shard } from "../events/event-shard.ts";
import { LiveCatalog as Items } from "../items/item-changes.ts";
import { S3Access, s3Bucket } from "../reading/s3-bucket.ts";
import worker from "../worker.ts";
import { answerObjectCall, remoteObjects } from "./remote-objects.ts";

/** What `npm run serve` binds in place of Cloudflare's bindings. */
const Given = z.object({
  S3: z.string().transform((text) => S3Access.parse(JSON.parse(text))),
  /** The secret for calls between the processes of this machine. */
  OBJECT_SECRET: z.string().min(32),
  /** The address of the process that has the Durable Objects; empty in that process itself. */
  OBJECT_HOME: z.string(),
});
/** Bindings of Durable Objects. */
const OBJECT_BINDINGS = ["EVENTS", "ITEMS"];

type Adapted = { readonly bindings: Bindings; readonly secret: string; readonly hasObjects: boolean };

const adapted = new WeakMap<object, Adapted>();

/** The bindings as the Worker expects them, made once. */
function adaptedOf(env: Bindings): Adapted {
  const known = adapted.get(env);
  if (known) return known;
  const { S3, OBJECT_HOME: origin, OBJECT_SECRET: secret } = Given.parse(env);
  const remote = OBJECT_BINDINGS.map((name) => [name, remoteObjects({ origin, secret }, name)]);
  const bindings: Bindings = { ...env, MODELS: s3Bucket(S3), ...(origin && Object.fromEntries(remote)) };
  const made = { bindings, secret, hasObjects: origin === "" };
  adapted.set(env, made);
  return made;
}

export class EventShard extends Shard {
  constructor(state: DurableObjectState, env: Bindings) {
    super(state, adaptedOf(env).bindings);
  }
}

export class LiveCatalog extends Items {
  constructor(state: DurableObjectState, env: Bindings) {
    super(state, adaptedOf(env).bindings);
  }
}

export default {
  async fetch(request: Request, env: Bindings, context: ExecutionContext): Promise<Response> {
    const { bindings, secret, hasObjects } = adaptedOf(env);
    const answered = hasObjects ? await answerObjectCall(request, bindings, secret) : undefined;
    return answered ?? worker.fetch(request, bindings, context);
  },
} satisfies ExportedHandler<Bindings>;
