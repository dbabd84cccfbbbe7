import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { AdamState } from "../../autodiff/adam.ts";
import type { Parameters } from "../../autodiff/parameters.ts";
import { type Averages, averagesOf } from "./averages.ts";

/**
 * Training that survives a killed process: a file with every number that the next epoch depends on, and once training has
 * ended with its outcome alone, so that the same fit asked for again is not trained twice. Its form: the length of a JSON
 * header as uint32, the header, then float32 arrays one after the other, little-endian: for each parameter its best
 * average and, until training has ended, its value, average, first and second moment. Written beside and renamed, so that
 * it is whole or absent. The folder is its owner's to remove.
 */
export type Resumable = {
  /** Fills what it was given and tells where training stood; undefined when there is nothing that fits. */
  load(): Position | undefined;
  save(position: Position): void;
};

/** What training has come to. */
export type TrainingOutcome = {
  /** The averaged parameters that were judged best. */
  readonly averages: Averages;
  readonly judgement: number | undefined;
  readonly epochs: number;
};

export type Position = {
  readonly epoch: number;
  /** Spent on training so far, by all processes together. */
  readonly seconds: number;
  readonly best: TrainingOutcome;
  readonly hasEnded: boolean;
};

type Live = { readonly parameters: Parameters; readonly averages: Averages; readonly optimizer: AdamState };

const Header = z.strictObject({
  identity: z.string().max(1000),
  epoch: z.int().nonnegative(),
  seconds: z.number().nonnegative(),
  hasEnded: z.boolean(),
  stepCount: z.int().nonnegative(),
  bestEpochs: z.int().nonnegative(),
  judgement: z.number().nullable(),
  floatCount: z.int().nonnegative(),
});

/** Keeps nothing when `folder` is undefined. Fits of different identities lie side by side. */
export function resumable(folder: string | undefined, identity: string, live: Live): Resumable {
  if (folder === undefined) return { load: () => undefined, save: () => {} };
  const path = join(folder, `fit-${createHash("sha256").update(identity).digest("hex").slice(0, 32)}.bin`);
  return {
    load() {
      const found = existsSync(path) ? opened(readFileSync(path)) : undefined;
      if (found?.header.identity !== identity) return undefined;
      const { epoch, seconds, hasEnded, stepCount, bestEpochs, judgement } = found.header;
      const best = averagesOf(live.averages);
      const arrays = arraysOf(live, best, hasEnded);
      if (found.floats.length !== lengthOf(arrays)) return undefined;
      let at = 0;
      for (const array of arrays) {
        array.set(found.floats.subarray(at, at + array.length));
        at += array.length;
      }
      live.optimizer.stepCount = stepCount;
      const outcome = { averages: best, judgement: judgement ?? undefined, epochs: bestEpochs };
      return { epoch, seconds, hasEnded, best: outcome };
    },
    save({ epoch, seconds, hasEnded, best }) {
      mkdirSync(folder, { recursive: true });
      const arrays = arraysOf(live, best.averages, hasEnded);
      const header = {
        identity,
        epoch,
        seconds,
        hasEnded,
        stepCount: live.optimizer.stepCount,
        bestEpochs: best.epochs,
        judgement: best.judgement ?? null,
        floatCount: lengthOf(arrays),
      };
      writeFileSync(`${path}.new`, packed(header, arrays));
      renameSync(`${path}.new`, path);
    },
  };
}

function arraysOf({ parameters, averages, optimizer }: Live, best: Averages, bestOnly: boolean): Float32Array[] {
  return [...parameters].flatMap(([name, { value }]) => {
    const bestValue = best.get(name)!.value;
    if (bestOnly) return [bestValue];
    const { first, second } = optimizer.moments.get(name)!;
    return [bestValue, value, averages.get(name)!.value, first, second];
  });
}
const lengthOf = (arrays: readonly Float32Array[]) => arrays.reduce((sum, { length }) => sum + length, 0);

function packed(header: z.infer<typeof Header>, arrays: readonly Float32Array[]): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(Uint32Array.of(text.length).buffer);
  return Buffer.concat([length, text, ...arrays.map((a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength))]);
}

/** Undefined for a file that is not whole: training then begins anew, which is always right. */
function opened(file: Buffer): { header: z.infer<typeof Header>; floats: Float32Array } | undefined {
  if (file.length < 4) return undefined;
  const start = 4 + file.readUInt32LE(0);
  const header = Header.safeParse(parsedJson(file.subarray(4, start).toString()));
  if (!header.success || file.length !== start + 4 * header.data.floatCount) return undefined;
  return { header: header.data, floats: new Float32Array(new Uint8Array(file.subarray(start)).buffer) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
