import { expect, test } from "vitest";
import { ModelRecord } from "../../../../shared/model-record.ts";
import { recordOfModel } from "../../../../trainer/manage/http/record-of-model.ts";
import { aModel } from "../../../fixtures/trainer-model.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

test("the record is of the published shape and has no secret", () => {
  const spec = specOf("shop", "wait", { connector_configs: [{ type: "Postgres", password: "hunter2" }] });
  const record = recordOfModel(aModel({ spec, version: "v1" }), "https://rank.example");
  expect(ModelRecord.parse(record)).toEqual(record);
  expect(record.model_url).toBe("https://rank.example/v0/models/shop");
  expect(JSON.stringify(record)).not.toContain("hunter2");
  expect(record.connectors).toEqual([{ type: "Postgres", password: "***" }]);
});
