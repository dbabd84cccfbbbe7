import { expect, test } from "vitest";
import { stageSources } from "../../../../trainer/read/dataset/stage-sources.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows } from "../../../fixtures/rows-staged.ts";

const options = {
  context: { customer: "test", settings: fileSettings([], "") },
  rejectedFractionMax: 0.5,
  signal: new AbortController().signal,
  nowMs: Date.UTC(2025, 0, 1),
  progress: () => undefined,
};
const interactions = "SELECT * FROM (VALUES ('a', 'x', 1, 1), ('b', 'y', 2, 0), ('b', NULL, 2, 0)) v(u, i, t, l)";

/** The error of staging, and whether the connector was closed. */
async function stage(spec: ReturnType<typeof specOf>) {
  const staged = await openStagedRows();
  let open = 0;
  try {
    const [outcome] = await Promise.allSettled([
      stageSources(staged.staging, spec, {
        ...options,
        connect: async (config, context) => {
          const connector = await connectMemory(config, context);
          open++;
          return { ...connector, close: () => connector.close().finally(() => open--) };
        },
      }),
    ]);
    expect(open).toBe(0);
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  } finally {
    await staged.close();
  }
}

test("every query is staged and checked, and connectors are closed", async () => {
  const items = "SELECT 'x' AS i, 'red' AS colour";
  const {
    interactions: checked,
    report,
    items: itemRows,
    users,
    sources,
    warnings,
  } = await stage(specOf({ interactions, items }));
  expect([checked.accepted, report.rows, Object.keys(report.rejected)]).toEqual([2, 3, ["missing_item"]]);
  expect(itemRows?.attributes.map(({ name }) => name)).toEqual(["colour"]);
  expect([users, sources, warnings]).toEqual([undefined, [], []]);
});

test("a missing column ends the run with its name, and connectors are closed", async () => {
  const spec = specOf({ interactions: "SELECT 1 AS u, 1 AS i, 1 AS t, 1 AS label" });
  await expect(stage(spec)).rejects.toMatchObject({ code: "missing_column", message: expect.stringContaining('"l"') });
});

test("too many rejected rows end the run before attributes are read", async () => {
  const spec = specOf({ interactions: "SELECT NULL AS u, 1 AS i, 1 AS t, 1 AS l", items: "SELECT nothing" });
  await expect(stage(spec)).rejects.toMatchObject({ code: "too_many_rejected_rows" });
});
