import { expect, test } from "vitest";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { customerSettings } from "../../../trainer/read/customer-settings.ts";
import type { ConnectorSettings } from "../../../trainer/settings.ts";
import { writeCustomer } from "../../../trainer/store/key-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const specOf = (type: string) => ({ connector_configs: [{ type }] }) as unknown as ModelSpec;
const settingsWith = (bigqueryServiceAccount: string | null) => ({ bigqueryServiceAccount }) as ConnectorSettings;

async function accountOf(type: string, fixed: string | null, customer = "acme") {
  const store = memoryStore();
  await writeCustomer(store, { format: 1, customer: "acme", service_account: "stored@p.iam.gserviceaccount.com" });
  const parts = { customer, spec: specOf(type), settings: settingsWith(fixed), store };
  return (await customerSettings(parts)).bigqueryServiceAccount;
}

test("the account given with the key is used where the settings name none", async () => {
  expect(await accountOf("BigQuery", null)).toBe("stored@p.iam.gserviceaccount.com");
  expect(await accountOf("BigQuery", "fixed@p.iam.gserviceaccount.com")).toBe("fixed@p.iam.gserviceaccount.com");
});

test("another customer has no part in it, and other connectors do not ask", async () => {
  expect(await accountOf("BigQuery", null, "other")).toBeNull();
  expect(await accountOf("File", null)).toBeNull();
});
