/**
 * Weights that go from the bucket straight to where the runtime keeps them, and are never in JavaScript as a whole: an
 * isolate has no room for large ones twice.
 *
 * onnxruntime-web copies external data with `bytes = file.subarray(begin, end)` and then `heap.set(bytes, address)`, once
 * for each tensor. Here `file` has no bytes: it notes the address, and the bytes are written there once the session exists.
 * That is right only for memory which the session keeps, so a mark is left at each address: where the runtime has let go
 * of the memory, having computed something from it once and for all, the mark is gone or the tensor was read twice.
 */
import { assert } from "../../shared/assert.ts";

/** One tensor's bytes `begin`…`end` of a file, and where in the heap they belong. */
type Place = { readonly path: string; readonly begin: number; readonly end: number; readonly address: number };

export type Places = {
  /** What is given to the runtime instead of a file's bytes. */
  fileOf(path: string, size: number): Uint8Array;
  /** Gives the runtime files without bytes while it works. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Whether every tensor was asked for once, and its memory is still the session's. */
  areKept(heap: WebAssembly.Memory): boolean;
  /** Writes bytes of a file, from its byte `offset` on, to their places. */
  fill(heap: WebAssembly.Memory, path: string, offset: number, bytes: Uint8Array): void;
};

const MARK_BYTES = 16;

export function places(): Places {
  const found: Place[] = [];
  const mark = new Uint8Array(MARK_BYTES);
  const markOf = ({ begin, end }: Place) => mark.subarray(0, Math.min(MARK_BYTES, end - begin));
  return {
    fileOf(path, size) {
      crypto.getRandomValues(mark); // here, because a Worker may not while it starts
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
        forgetNextSet(); // the runtime gave up between asking and setting
      }
    },
    areKept(heap) {
      const bytes = new Uint8Array(heap.buffer);
      const isTwice = (place: Place, i: number) =>
        found.some((other, j) => j < i && other.path === place.path && other.begin === place.begin);
      return found.every(
        (place, i) => !isTwice(place, i) && markOf(place).every((value, at) => bytes[place.address + at] === value),
      );
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

/** The very next call of `set` on bytes, which is what the runtime does next, is this one instead. */
function onNextSet(note: (target: Uint8Array, address: number) => void): void {
  assert(!Object.hasOwn(Uint8Array.prototype, "set"), "the runtime sets what it has asked for");
  const set = function (this: Uint8Array, _nothing: ArrayLike<number>, address = 0) {
    forgetNextSet();
    note(this, address);
  };
  Object.defineProperty(Uint8Array.prototype, "set", { value: set, configurable: true });
}

/** What is left is the `set` of the prototype of all typed arrays. */
const forgetNextSet = () => Reflect.deleteProperty(Uint8Array.prototype, "set");
