import fc from "fast-check";
import { expect, test } from "vitest";
import { weightPlaces } from "../../../edge/versions/weights-in-place.ts";

const SIZE = 1000;
const BYTES = Uint8Array.from({ length: SIZE }, (_, i) => 1 + ((i * 37) % 251));
const memory = () => new WebAssembly.Memory({ initial: 1 });
const bytesOf = (heap: WebAssembly.Memory) => new Uint8Array(heap.buffer);

/** As onnxruntime-web copies a tensor: address = 2 · begin + 1. */
const ask = (heap: WebAssembly.Memory, file: Uint8Array, [begin, end]: readonly [number, number]) => {
  if (end > file.byteLength) throw new Error("beyond the end");
  const bytes = file.subarray(begin, end);
  bytesOf(heap).set(bytes, 2 * begin + 1);
};
const inOrder = fc
  .uniqueArray(fc.nat(SIZE), { maxLength: 12 })
  .map((cuts) => [...new Set([0, ...cuts, SIZE])].sort((a, b) => a - b))
  .map((bounds) => bounds.slice(1).map((end, i) => [bounds[i]!, end] as const));

test("the heap ends up the same as if the bytes had been there from the start, in whatever pieces they come", () =>
  fc.assert(
    fc.property(inOrder, inOrder, (tensors, pieces) => {
      const [expected, heap] = [memory(), memory()];
      for (const tensor of tensors) ask(expected, BYTES, tensor);
      const { emptyFile, areKept, fill } = weightPlaces();
      const file = emptyFile("a", SIZE);
      for (const tensor of tensors) ask(heap, file, tensor);
      expect(areKept(heap)).toBe(true);
      for (const [begin, end] of pieces) fill(heap, "a", begin, BYTES.subarray(begin, end));
      fill(heap, "b", 0, BYTES.subarray(0, 100));
      for (const [begin, end] of tensors)
        expect(bytesOf(heap).slice(2 * begin + 1, begin + 1 + end)).toEqual(
          bytesOf(expected).slice(2 * begin + 1, begin + 1 + end),
        );
    }),
  ));
test("reused memory and a tensor that was read twice are detected", () => {
  const [heap, { emptyFile, areKept }] = [memory(), weightPlaces()];
  const file = emptyFile("a", SIZE);
  ask(heap, file, [0, 100]);
  ask(heap, file, [100, 200]);
  expect(areKept(heap)).toBe(true);
  bytesOf(heap)[203]! ^= 1;
  expect(areKept(heap)).toBe(false);
  bytesOf(heap)[203]! ^= 1;
  expect(areKept(heap)).toBe(true);
  ask(heap, file, [0, 100]);
  expect(areKept(heap)).toBe(false);
});
test("the empty file has the real size, so that a tensor beyond its end is refused", () =>
  expect(() => ask(memory(), weightPlaces().emptyFile("a", 10), [5, 11])).toThrow("beyond the end"));
test("`set` works normally once the runtime is done, even if it did not call it", async () => {
  const { emptyFile, during } = weightPlaces();
  const work = async () => emptyFile("a", SIZE).subarray(0, 10);
  await during(work);
  const target = new Uint8Array(2);
  target.set([1, 2]);
  expect([...target]).toEqual([1, 2]);
  await expect(during(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
});
