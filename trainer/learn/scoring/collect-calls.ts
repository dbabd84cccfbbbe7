/**
 * Collects calls that are made at the same time and answers them together: as soon as there are `count` of them, or when nothing else is
 * about to happen.
 */
export function collectCalls<Input, Output>(
  count: number,
  together: (inputs: readonly Input[]) => Promise<readonly Output[]>,
): (input: Input) => Promise<Output> {
  type Call = { readonly input: Input; resolve(output: Output): void; reject(error: unknown): void };
  let waiting: Call[] = [];
  const flush = () => {
    const calls = waiting;
    waiting = [];
    together(calls.map(({ input }) => input)).then(
      (outputs) => {
        for (const [i, { resolve }] of calls.entries()) resolve(outputs[i]!);
      },
      (error: unknown) => {
        for (const { reject } of calls) reject(error);
      },
    );
  };
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (waiting.length === count) flush();
      else if (waiting.length === 1) setImmediate(() => waiting.length > 0 && flush());
    });
}
