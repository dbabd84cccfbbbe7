import { expect, test } from "vitest";
import { trainingChance } from "../../../../trainer/learn/neural/chance.ts";

const three = (random: () => number) => [random(), random(), random()];

test("an epoch's steps draw the same whatever was drawn before", () => {
  const [whole, resumed] = [trainingChance(5), trainingChance(5)];
  for (let epoch = 0; epoch < 4; epoch++) {
    whole.beginEpoch(epoch);
    three(whole.ofSteps);
  }
  resumed.beginEpoch(2);
  three(resumed.ofSteps);
  whole.beginEpoch(3);
  resumed.beginEpoch(3);
  expect(three(resumed.ofSteps)).toEqual(three(whole.ofSteps));
});

test("purposes, epochs, batches and steps have chance of their own, and so has every seed", () => {
  const chance = trainingChance(5);
  const draws = [
    three(chance.of("held_out")),
    three(chance.of("parameters")),
    three(chance.of("masks")),
    three(chance.ofBatches(0)),
    three(chance.ofBatches(1)),
    three(chance.ofSteps),
    three(trainingChance(6).of("parameters")),
  ].map(String);
  expect(new Set(draws).size).toBe(draws.length);
  expect(three(chance.of("masks"))).toEqual(three(trainingChance(5).of("masks")));
});
