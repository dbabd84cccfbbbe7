import { createHash } from "node:crypto";
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { AdamState } from "../numerics/autodiff/adam.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
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
      if (!existsSync(path)) return undefined;
      const best = averagesOf(live.averages);
      const header = withFile(path, "r", (file) => {
        const found = headerOf(file);
        if (found?.identity !== identity) return undefined;
        const arrays = arraysOf(live, best, found.hasEnded);
        if (found.floatCount !== lengthOf(arrays)) return undefined;
        for (const array of arrays) inPieces(bytesOf(array), (piece) => readSync(file, piece));
        return found;
      });
      if (!header) return undefined;
      const { epoch, seconds, hasEnded, stepCount, bestEpochs, judgement } = header;
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
      const text = new TextEncoder().encode(JSON.stringify(header));
      withFile(`${path}.new`, "w", (file) => {
        for (const part of [Uint32Array.of(text.length), text, ...arrays])
          inPieces(bytesOf(part), (piece) => writeSync(file, piece));
      });
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

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => new Uint8Array(buffer, byteOffset, byteLength);

/** A call of the system moves less than 2 GiB. */
const PIECE_BYTES = 2 ** 30;

function inPieces(bytes: Uint8Array, moved: (piece: Uint8Array) => number): void {
  for (let at = 0; at < bytes.length; ) {
    const count = moved(bytes.subarray(at, at + PIECE_BYTES));
    if (count === 0) throw new Error(`A state of training ends ${bytes.length - at} bytes too early.`);
    at += count;
  }
}

function withFile<Result>(path: string, flags: "r" | "w", use: (file: number) => Result): Result {
  const file = openSync(path, flags);
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** Undefined for a file that is not whole: training then begins anew, which is always right. Leaves the file where the floats begin. */
function headerOf(file: number): z.infer<typeof Header> | undefined {
  const { size } = fstatSync(file);
  const length = new Uint32Array(1);
  if (size < length.byteLength) return undefined;
  inPieces(bytesOf(length), (piece) => readSync(file, piece));
  const start = length.byteLength + length[0]!;
  if (size < start) return undefined;
  const text = new Uint8Array(length[0]!);
  inPieces(text, (piece) => readSync(file, piece));
  const header = Header.safeParse(parsedJson(new TextDecoder().decode(text)));
  return header.success && size === start + 4 * header.data.floatCount ? header.data : undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
