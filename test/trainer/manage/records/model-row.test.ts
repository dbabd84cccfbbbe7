import { expect, test } from "vitest";
import {
  json,
  modelOfRow,
  parsed,
  SELECT_MODEL,
  timeOf,
  valuesOfModel,
} from "../../../../trainer/manage/records/model-row.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const rowOf = (values: readonly unknown[]) => {
  const names = /^select (.*), request_digest/.exec(SELECT_MODEL)![1]!.split(", ");
  expect(values).toHaveLength(names.length);
  return { progress: null, ...Object.fromEntries(names.map((name, i) => [name, values[i]])) };
};

test("a model survives its row, including NUL and lone surrogates", () => {
  const failure = { stage: "fetching", code: "no", message: "a\u0000b\ud800", at: NOW, retryable: true };
  const model = aModel(
    { failure, version: "v1", spec: specOf("shop", "select '\u0000'") },
    { startedAt: NOW, attempt: 2 },
  );
  expect(modelOfRow(rowOf(valuesOfModel(model)))).toEqual(model);
});

test("absent values are null in the row, not texts", () => {
  expect([timeOf(null), parsed(null), json(null)]).toEqual([null, null, null]);
  expect(timeOf(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
});
