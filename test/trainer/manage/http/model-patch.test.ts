import { expect, test } from "vitest";
import { patchBetween } from "../../../../shared/merge-patch.ts";
import { ModelSpec } from "../../../../shared/model-spec.ts";
import { patchedSpec } from "../../../../trainer/manage/http/model-patch.ts";

const rated = { type: "Rating", name: "stars", positive_from: 4 } as const;
const specWith = (label: object) =>
  ModelSpec.parse({
    model_name: "shop",
    connector_configs: [{ type: "File", location: "shop/*.csv" }],
    schema: {
      user: { id: "u" },
      item: { id: "i" },
      interaction: { created_at: "t", label, source: { query: "SELECT 1" } },
    },
  });
const patchedLabel = (label: object) =>
  patchedSpec(specWith(rated), { schema: { interaction: { label } } }).schema.interaction.label;

test("a label of another type replaces the former one and keeps its column", () => {
  expect(patchedLabel({ type: "Binary" })).toEqual({ type: "Binary", name: "stars" });
  expect(patchedLabel({ type: "Weight", name: "minutes" })).toEqual({ type: "Weight", name: "minutes" });
  expect(patchedLabel({ type: "Binary", positive_from: null })).toEqual({ type: "Binary", name: "stars" });
});

test("a label of the same type is merged, and its faults are found", () => {
  expect(patchedLabel({ positive_from: 3 })).toEqual({ ...rated, positive_from: 3 });
  expect(patchedLabel({ type: "Rating", positive_from: 3 })).toEqual({ ...rated, positive_from: 3 });
  expect(() => patchedLabel({ type: "Binary", positive_from: 3 })).toThrow("positive_from");
  expect(() => patchedLabel({ type: "Binary", positiv_from: null })).toThrow("positiv_from");
  expect(() => patchedLabel({ type: "Stars" })).toThrow();
});

test("the patch between any two labels is accepted", () => {
  const binary = { type: "Binary", name: "label" };
  for (const [from, to] of [
    [rated, binary],
    [binary, rated],
  ] as const) {
    const [before, after] = [specWith(from), specWith(to)];
    expect(patchedSpec(before, { schema: patchBetween(before.schema, after.schema) })).toEqual(after);
  }
});
