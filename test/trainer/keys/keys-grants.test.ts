import { expect, test } from "vitest";
import { bigqueryGrants, postgresGrants } from "../../../trainer/keys/keys-grants.ts";

const nowhere = { project: undefined, dataset: undefined, egressAddresses: [] };

test("unknown names are in capitals, and the flags that fill them in are named", () => {
  const text = bigqueryGrants("a@p.iam.gserviceaccount.com", nowhere);
  expect(text).toContain("add-iam-policy-binding PROJECT ");
  expect(text).toContain("`PROJECT.DATASET`");
  expect(text).toContain("--project and --dataset fill in the names");
  const known = bigqueryGrants("a@p.iam.gserviceaccount.com", { ...nowhere, project: "acme-shop", dataset: "d" });
  expect(known).not.toMatch(/PROJECT|DATASET|fill in/);
});

test("an account whose address does not contain its project gets no --project", () =>
  expect(bigqueryGrants("1-compute@developer.gserviceaccount.com", nowhere)).toMatch(/@developer\S+ \\\n/));

test("without addresses, the setting for them is named", () => {
  expect(postgresGrants("X__DB", nowhere)).toContain("SHORTLIST_EGRESS_ADDRESSES");
  expect(postgresGrants("X__DB", { ...nowhere, egressAddresses: ["192.0.2.1"] })).toContain(
    "admits connections from 192.0.2.1:",
  );
});
