import { expect, test } from "vitest";
import { growSparingly } from "../../../edge/versions/heap-growth.ts";

const PAGE_BYTES = 65_536;
const pagesOf = (heap: WebAssembly.Memory) => heap.buffer.byteLength / PAGE_BYTES;

/** Makes room for `wanted` pages as onnxruntime-web 1.30 does. Returns whether there is room. */
function requestPages(heap: WebAssembly.Memory, wanted: number): boolean {
  const before = pagesOf(heap);
  for (const part of [1, 2, 4]) {
    try {
      heap.grow(Math.max(wanted, Math.ceil(before * (1 + 0.2 / part))) - before);
      return true;
    } catch {
      // The runtime tries to grow it by less.
    }
  }
  return false;
}

const sparingHeap = () => {
  const heap = new WebAssembly.Memory({ initial: 100, maximum: 300, shared: true });
  growSparingly(heap);
  return heap;
};

test("small requests grow the heap by a twentieth, not by a fifth", () => {
  const heap = sparingHeap();
  expect([requestPages(heap, 101), pagesOf(heap)]).toEqual([true, 105]);
  expect([requestPages(heap, 106), pagesOf(heap)]).toEqual([true, 111]);
});

test("large requests get what they need", () => {
  const heap = sparingHeap();
  expect([requestPages(heap, 240), pagesOf(heap)]).toEqual([true, 240]);
});

test("a request beyond the limit fails, and a later one that fits succeeds", () => {
  const heap = sparingHeap();
  expect(requestPages(heap, 301)).toBe(false);
  expect([requestPages(heap, 300), pagesOf(heap)]).toEqual([true, 300]);
});
