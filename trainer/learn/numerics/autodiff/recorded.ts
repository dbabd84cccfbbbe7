/** A float32 value of the graph that gradients may flow into. Indices, masks and shapes are plain names. */
export type Tensor = { readonly value: string };

/** One recorded operator: how the gradient of its output becomes gradients of what it read. */
export type Recorded = {
  readonly output: Tensor;
  readonly inputs: readonly Tensor[];
  /** One name per input: its gradient, or undefined where none flows. */
  readonly backward: (dOutput: string) => readonly (string | undefined)[];
};
