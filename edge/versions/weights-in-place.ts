/**
 * Writes weights from the bucket directly to their place in the runtime's heap. They are never in JavaScript as a whole, since an isolate
 * has no memory for two copies of large weights.
 *
 * onnxruntime-web copies external data with `bytes = file.subarray(begin, end)` and then `heap.set(bytes, address)`, once per tensor.
 * Here `file` has no bytes. It records the address, and the bytes are written there once the session exists. This is correct only if the
 * session keeps that memory, so a random mark is left at each address. If the runtime has used the tensor while loading and freed its
 * memory, the mark is gone or the tensor was read twice.
 */
import { assert } from "../../shared/assert.ts";

/** Bytes `begin` to `end` − 1 of a file, which are one tensor, and their address in the heap. */
type TensorPlace = { readonly path: string; readonly begin: number; readonly end: number; readonly address: number };

export type WeightPlaces = {
  /** An array without bytes, which the runtime receives in place of a file's bytes. */
  emptyFile(path: string, size: number): Uint8Array;
  /** Runs the work in which the runtime reads the empty files. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Whether every tensor was read once and the session still keeps its memory. */
  areKept(heap: WebAssembly.Memory): boolean;
  /** The bytes of a file in the heap, if it is one tensor. They are valid until the heap grows. */
  bytesOf(heap: WebAssembly.Memory, path: string): Uint8Array | undefined;
  /** Writes bytes of a file, starting at its byte `offset`, to their addresses. */
  fill(heap: WebAssembly.Memory, path: string, offset: number, bytes: Uint8Array): void;
};

const MARK_BYTES = 16;

export function weightPlaces(): WeightPlaces {
  const found: TensorPlace[] = [];
  const mark = new Uint8Array(MARK_BYTES);
  const markOf = ({ begin, end }: TensorPlace) => mark.subarray(0, Math.min(MARK_BYTES, end - begin));
  return {
    emptyFile(path, size) {
      crypto.getRandomValues(mark); // not earlier: a Worker has no random values while it starts
      const subarray = (begin: number, end: number) => {
        onNextSet((target, address) => {
          const place = { path, begin, end, address };
          found.push(place);
          target.set(markOf(place), address);
        });
        return new Uint8Array(0);
      };
      return Object.defineProperties(new Uint8Array(0), { byteLength: { value: size }, subarray: { value: subarray } });
    },
    async during(work) {
      try {
        return await work();
      } finally {
        restoreSet(); // the runtime may have failed between `subarray` and `set`
      }
    },
    areKept(heap) {
      const bytes = new Uint8Array(heap.buffer);
      const isRepeated = (place: TensorPlace, i: number) =>
        found.some((other, j) => j < i && other.path === place.path && other.begin === place.begin);
      return found.every(
        (place, i) => !isRepeated(place, i) && markOf(place).every((value, at) => bytes[place.address + at] === value),
      );
    },
    bytesOf(heap, path) {
      const [place, ...others] = found.filter((place) => place.path === path);
      if (!place || place.begin > 0 || others.length > 0) return undefined;
      return new Uint8Array(heap.buffer, place.address, place.end);
    },
    fill(heap, path, offset, bytes) {
      for (const { begin, end, address } of found.filter((place) => place.path === path)) {
        const [from, to] = [Math.max(begin, offset), Math.min(end, offset + bytes.length)];
        if (from < to)
          new Uint8Array(heap.buffer).set(bytes.subarray(from - offset, to - offset), address + from - begin);
      }
    },
  };
}

/** Replaces the next call of `Uint8Array.prototype.set`, which is the runtime's next step after `subarray`. */
function onNextSet(callback: (target: Uint8Array, address: number) => void): void {
  assert(!Object.hasOwn(Uint8Array.prototype, "set"), "the runtime calls set after each subarray");
  const set = function (this: Uint8Array, _nothing: ArrayLike<number>, address = 0) {
    restoreSet();
    callback(this, address);
  };
  Object.defineProperty(Uint8Array.prototype, "set", { value: set, configurable: true });
}

/** Deletes the replacement, so that the `set` of the common prototype of typed arrays is visible again. */
const restoreSet = () => Reflect.deleteProperty(Uint8Array.prototype, "set");
