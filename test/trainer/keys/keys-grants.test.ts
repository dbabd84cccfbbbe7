import { expect, test } from "vitest";
import { bigqueryGrants, postgresGrants } from "../../../trainer/keys/keys-grants.ts";

const nowhere = { project: undefined, dataset: undefined, egressAddresses: [] };

test("names that are not known stand in capitals, and the flags that fill them in are told", () => {
  const text = bigqueryGrants("a@p.iam.gserviceaccount.com", nowhere);
  expect(text).toContain("add-iam-policy-binding PROJECT ");
  expect(text).toContain("`PROJECT.DATASET`");
  expect(text).toContain("--project and --dataset fill in the names");
  const known = bigqueryGrants("a@p.iam.gserviceaccount.com", { ...nowhere, project: "acme-shop", dataset: "d" });
  expect(known).not.toMatch(/PROJECT|DATASET|fill in/);
});

test("the project of an account of another kind is left to gcloud", () =>
  expect(bigqueryGrants("1-compute@developer.gserviceaccount.com", nowhere)).toMatch(/@developer\S+ \\\n/));

test("without addresses, where they come from is told", () => {
  expect(postgresGrants("X__DB", nowhere)).toContain("SHORTLIST_EGRESS_ADDRESSES");
  expect(postgresGrants("X__DB", { ...nowhere, egressAddresses: ["192.0.2.1"] })).toContain("lets in 192.0.2.1:");
});
