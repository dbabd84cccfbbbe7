/** How many times the runtime tries to grow its heap for one request: by a fifth of its size, by a tenth, and by a twentieth. */
const TRIES = 3;

/**
 * Lets the runtime's heap grow by a twentieth at a time, or by what is needed if that is more. The heap never shrinks. The runtime grows
 * it by a fifth, and by less only if that fails, so all tries but the last one fail here.
 */
export function growSparingly(heap: WebAssembly.Memory): void {
  const grow = heap.grow.bind(heap);
  let tries = 0;
  const value = (pages: number) => {
    tries = (tries + 1) % TRIES;
    if (tries !== 0) throw new RangeError("the heap grows by less");
    return grow(pages);
  };
  Object.defineProperty(heap, "grow", { value });
}
