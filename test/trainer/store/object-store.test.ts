import { expect, test } from "vitest";
import { checkKey, StoreError } from "../../../trainer/store/object-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

objectStoreSuite(async () => memoryStore());

test("the keys of a model are valid", () => {
  for (const key of ["keys/0a.json", "models/acme/My_model-1.0/blobs/ff", "a"]) checkKey(key);
});
test("a key of more than 1024 characters is refused", () => {
  checkKey("a".repeat(1024));
  expect(() => checkKey("a".repeat(1025))).toThrow(StoreError);
});
