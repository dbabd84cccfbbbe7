import { expect, test } from "vitest";
import { UserAttributesReport } from "../../../../shared/evaluation-report.ts";
import { chooseUserValues } from "../../../../trainer/choose/users-without-history/choose-user-values.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import type { AttributeColumn, Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { codesOfUsers, userValueTable } from "../../../../trainer/read/dataset/user-value-table.ts";
import { missingRealData, readRealData } from "../../../fixtures/real-data.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

async function choose(train: Dataset, seed = 1) {
  const table = userValueTable(train.userAttributes);
  const codes = codesOfUsers(table, train.userAttributes, train.userCount);
  const signal = new AbortController().signal;
  const chosen = await chooseUserValues({ train, codes, table, halfLifeDays: 0, seed, signal });
  expect(UserAttributesReport.parse(chosen.report)).toEqual(chosen.report);
  return { ...chosen, table };
}

/** An attribute of as many values as wanted, dealt out by lot. */
function byLot(name: string, users: number, different: number, seed: number): AttributeColumn {
  const random = seededRandom(seed, different);
  const dictionary = Array.from({ length: different }, (_, i) => `${name} ${i}`);
  const start = Uint32Array.from({ length: users + 1 }, (_, user) => user);
  return {
    name,
    type: "Category",
    dictionary,
    start,
    codes: Uint32Array.from({ length: users }, () => Math.floor(different * random())),
  };
}

test("an attribute that predicts choices is served, another one is left out", async () => {
  const { choice, report, table } = await choose(tastesByCity({ users: 300, items: 40, perUser: 8 }));
  const [city] = table.columns;
  expect(choice!.values).toEqual([...city!.codes.values()].sort());
  expect(report).toMatchObject({
    served: true,
    users_hidden: 300,
    attributes: [
      { name: "city", values: 2, kept: true },
      { name: "team", values: 3, kept: false },
    ],
    params: { shrink: choice!.shrink, weight: choice!.weight },
  });
  expect(report.lift["ndcg@10"]!.low).toBeGreaterThan(0);
  expect(report.reason).toMatch(
    /^Users without a history are ranked for by attributes: ndcg@10 differs .* on 300 users/,
  );
});

test.each([1, 2, 3, 4, 5])("attributes dealt out by lot are refused, whatever the lot: %i", async (seed) => {
  const data = tastesByCity({ users: 400, items: 60, perUser: 12, taste: 0.7 });
  const userAttributes = [byLot("a", 400, 2, seed), byLot("b", 400, 7, seed), byLot("c", 400, 15, seed)];
  const { choice, report } = await choose({ ...data, userAttributes }, seed);
  expect([choice, report.served, report.params]).toEqual([undefined, false, {}]);
});

test("with few users no attribute is served, however clear it looks", async () => {
  const { choice, report } = await choose(tastesByCity({ users: 90, items: 40, perUser: 8 }));
  expect([choice, report.served, report.users_hidden]).toEqual([undefined, false, 0]);
  expect(report.reason).toBe("Only 90 users have values and choices; 100 are needed to measure it.");
});

test("without a shared value no attribute is served", async () => {
  const { report } = await choose({ ...tastesByCity({ users: 90, items: 40, perUser: 8 }), userAttributes: [] });
  expect(report).toMatchObject({
    served: false,
    attributes: [],
    reason: "No value of an attribute is shared by enough users to learn from.",
  });
});

const missing = missingRealData("ml-100k");
test.skipIf(missing)(
  `hidden users of ml-100k are served better by age, gender and occupation ${missing ?? ""}`,
  async () => {
    const { dataset } = await readRealData("ml-100k", { withAttributes: true });
    const { report } = await choose(dataset);
    expect(report.served).toBe(true);
    expect(report.lift["ndcg@10"]!.value).toBeGreaterThan(0.01);
    expect(report.metrics["recall@20"]!.value).toBeGreaterThan(report.popularity["recall@20"]!.value!);
  },
);

test.skipIf(missing)(`random attributes of ml-100k are refused ${missing ?? ""}`, async () => {
  const { dataset } = await readRealData("ml-100k");
  const { userCount } = dataset;
  const userAttributes = [byLot("a", userCount, 2, 1), byLot("b", userCount, 7, 1), byLot("c", userCount, 20, 1)];
  expect((await choose({ ...dataset, userAttributes })).report.served).toBe(false);
});
