import type { ModelSpec } from "../../shared/model-spec.ts";
import { freeMemory, memoryForData } from "../../trainer/run/free-memory.ts";
import type { TrainDeps } from "../../trainer/run/run-steps.ts";
import { trainModel } from "../../trainer/run/train-model.ts";
import type { TrainingJob } from "../../trainer/run/training-run.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";

type BenchRun = Pick<TrainDeps, "connect" | "store" | "clock" | "report"> & {
  readonly workDirectory: string;
  readonly fitSecondsMax: number;
  readonly memoryMbMax: number;
  readonly onData?: TrainDeps["onData"];
};

/** Trains the model `bench` in this process, without the gate, and publishes it to the store. */
export async function benchRun(spec: ModelSpec, run: BenchRun): Promise<Awaited<ReturnType<typeof trainModel>>> {
  const { connect, store, clock, report, onData = () => {} } = run;
  const { customer } = connect;
  await setStatus(store, { customer, modelName: spec.model_name }, { status: "SCHEDULING", nowMs: Date.now() });
  const { signal } = new AbortController();
  const memoryMbFree = freeMemory(run.memoryMbMax);
  const within = { ...run, memoryMbMax: memoryForData(run.memoryMbMax) };
  const deps = { connect, store, signal, nowMs: Date.now, clock, report, onData, memoryMbFree };
  return trainModel(benchJob(spec, within), deps);
}

type JobLimits = Pick<BenchRun, "connect" | "workDirectory" | "fitSecondsMax" | "memoryMbMax">;

/** The job of such a run. */
export function benchJob(
  spec: ModelSpec,
  { connect, workDirectory, fitSecondsMax, memoryMbMax }: JobLimits,
): TrainingJob {
  return {
    runId: "bench",
    customer: connect.customer,
    spec,
    connectorSettings: connect.settings,
    erasure: { salt: "0".repeat(32), dueMs: null },
    settings: {
      workDirectory,
      modelDirectory: workDirectory,
      seed: 1,
      fitSecondsMax,
      memoryMbMax,
      diskBytesMax: 1e12,
      rejectedFractionMax: 0,
      weightBytesMax: 24 * 2 ** 20,
      edgeMemoryBytes: 80e6,
      ignoreGate: true,
    },
  };
}
