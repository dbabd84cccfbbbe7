import type { ModelStatus } from "../../../shared/live-pointer.ts";
import { statusAfter } from "../../../shared/model-record.ts";
import { type ModelRef, readLivePointer, setStatus } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import { readManifest } from "../../store/versions.ts";
import type { ModelRegistry } from "../records/model-registry.ts";

export type AgreeContext = {
  readonly store: ObjectStore;
  readonly registry: ModelRegistry;
  readonly nowMs: () => number;
};

const ROUNDS_MAX = 10;

/**
 * Makes a model's record and its live pointer tell the same. Which version is live the pointer knows, and the record follows;
 * everything else the record knows: the status of a model without a live version, and that a model is deleted or was never there.
 *
 * The two are written one after the other by several hands, so each is looked at again after the other was written, until there is
 * nothing left to write: whoever writes last finds out, in whatever order the writes arrived. Whoever changes one of the two calls
 * this afterwards. Throws StoreError.
 */
export async function agree(model: ModelRef, context: AgreeContext): Promise<void> {
  const { store, registry, nowMs } = context;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const said = await sayingOf(model, registry);
    const isStill = async () => (await sayingOf(model, registry)).status === said.status;
    const live = await versionAfter(model, { store, status: said.status, nowMs: nowMs(), isStill });
    if (live !== undefined && live !== said.version) await adopt(model, live, context);
    else if (await isStill()) return;
  }
  const name = JSON.stringify(model.modelName);
  throw new StoreError(`Record and live pointer of ${name} changed ${ROUNDS_MAX} times in turn.`, { retryable: true });
}

type Saying = { readonly status: ModelStatus; readonly version: string | null };

/** What the pointer should say if no version is live. ACTIVE: nothing, since a version should be. */
async function sayingOf({ customer, modelName }: ModelRef, registry: ModelRegistry): Promise<Saying> {
  const model = await registry.find(customer, modelName);
  if (model === undefined || model.status === "DESTROYING") return { status: "DESTROYING", version: null };
  return { status: statusAfter(model.status, model.training.state, false), version: model.version };
}

type Telling = {
  readonly store: ObjectStore;
  readonly status: ModelStatus;
  readonly nowMs: number;
  readonly isStill: () => Promise<boolean>;
};

/** The version that is live once the status has been told. A tombstone alone takes away what is served, so it is asked about again. */
async function versionAfter(model: ModelRef, telling: Telling): Promise<string | undefined> {
  const { store, status, nowMs, isStill } = telling;
  const change = { status, nowMs, isStill: status === "DESTROYING" ? isStill : undefined };
  const pointer =
    status === "ACTIVE" ? (await readLivePointer(store, model))?.pointer : await setStatus(store, model, change);
  return pointer?.live?.version;
}

async function adopt(model: ModelRef, version: string, { store, registry }: AgreeContext): Promise<void> {
  const { customer, modelName } = model;
  const metrics = (await registry.findVersion(customer, modelName, version))?.metrics ?? null;
  const itemIdType = (await readManifest(store, model, version))?.item_id_type ?? null;
  await registry.apply(customer, modelName, { kind: "activated", version, itemIdType, metrics });
}
