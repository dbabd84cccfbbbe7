import { expect, test } from "vitest";
import { endingWith } from "../../../../trainer/read/connectors/ending-with.ts";

async function* numbers(failsAt: number) {
  for (let i = 0; i < 3; i++) {
    if (i === failsAt) throw new Error("lost");
    yield i;
  }
}

test.each([
  ["read to its end", 9, 9, [0, 1, 2], undefined],
  ["given up", 9, 1, [0, 1], undefined],
  ["failing", 1, 9, [0], "lost"],
] as const)("what is %s is ended once", async (_, failsAt, stopAfter, values, message) => {
  let ends = 0;
  const seen: number[] = [];
  const reading = async () => {
    for await (const value of endingWith(numbers(failsAt), () => void ends++)) {
      seen.push(value);
      if (value === stopAfter) break;
    }
  };
  const error = await reading().then(
    () => undefined,
    (cause: Error) => cause.message,
  );
  expect([seen, error, ends]).toEqual([values, message, 1]);
});
