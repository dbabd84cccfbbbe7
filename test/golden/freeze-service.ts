/** Freezes a service and its records, as a part of `node test/golden/freeze-release.ts`. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { brotliCompressSync } from "node:zlib";
import { PRODUCT_VERSION } from "../../shared/product.ts";
import { freePort } from "../../trainer/local/free-port.ts";
import { MIGRATIONS } from "../../trainer/manage/records/migrations.ts";
import { endService } from "../fixtures/started-service.ts";
import { runsOf } from "../fixtures/waiting-run.ts";
import {
  callerOf,
  type FrozenRecords,
  RECORDS_FILE,
  runToEnd,
  SERVICE_FACTS_FILE,
  SERVICE_FILE,
  type ServiceFacts,
  serveProgram,
} from "./frozen-service.ts";

const SPEC = {
  model_name: "shop",
  connector_configs: [
    { id: "files", type: "File", location: "clicks.csv" },
    { id: "events", type: "Events" },
  ],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id" },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { connector_id: "files", query: "SELECT *, true AS label FROM clicks" },
      events: { view: { label: true } },
    },
  },
};

export async function freezeService(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "freeze-"));
  const dir = join(folder, "service");
  const port = await freePort();
  const rows = Array.from({ length: 300 }, (_, i) => `u${i % 20},i${(i * 7) % 30},${1_760_000_000 + i * 60}`);
  await writeFile(join(folder, "clicks.csv"), `user_id,item_id,created_at\n${rows.join("\n")}\n`);
  await runToEnd("setup", "--yes", "--dir", dir, "--port", String(port), "--data-root", folder);
  const path = join(dir, "settings.json");
  const settings = { ...JSON.parse(await readFile(path, "utf8")), workers: 1 };
  await writeFile(path, JSON.stringify({ ...settings, environment: { SHORTLIST_FIT_SECONDS: 1 } }));
  const service = serveProgram("serve", "--dir", dir);
  try {
    await service.printed("Up on ");
    const call = callerOf(port, JSON.parse(await readFile(join(dir, "local.json"), "utf8")).api_key);
    await call("/v0/models", SPEC);
    while (((await call("/v0/models/shop")).body as { status: string }).status !== "ACTIVE") await setTimeout(200);
    const event = (item_id: string) => ({ user_id: "visitor", item_id, type: "view", event_id: `e-${item_id}` });
    await call("/v0/events", { events: [event("i1"), event("i2")] });
    await call("/v0/models/shop/items", { items: [{ item_id: "i3", hidden: true }] }, "PATCH");
    await setTimeout(11_000); // until the change is in effect
    const list = (await call("/v0/models/shop/rank?user_id=visitor&limit=5")).body as string[];
    const facts: ServiceFacts = { version: PRODUCT_VERSION, list, hidden: "i3", events: 2 };
    await runToEnd("backup-cli", "backup", "--dir", dir, "--to", SERVICE_FILE);
    await writeFile(SERVICE_FACTS_FILE, `${JSON.stringify(facts, null, 2)}\n`);
  } finally {
    await endService(service);
    await rm(folder, { recursive: true, force: true });
  }
  await writeFile(RECORDS_FILE, brotliCompressSync(JSON.stringify(await frozenRecords())));
}

/** Records with a model that serves, one whose last run failed, and a run that waits. */
async function frozenRecords(): Promise<FrozenRecords> {
  const { database, waitingRun } = await runsOf();
  await (await waitingRun("progress TRAINING\ndata\npublish v1")).perform();
  await (await waitingRun("data\nfail no_positives")).perform();
  await waitingRun("publish v2");
  const names = await database.query(
    "select table_name from information_schema.tables where table_schema = 'shortlist'",
  );
  const tables: Record<string, FrozenRecords["tables"][string]> = {};
  for (const { table_name } of names) {
    if (table_name === "migrations") continue;
    const rows = await database.query(`select * from shortlist.${String(table_name)}`);
    tables[String(table_name)] = JSON.parse(JSON.stringify(rows));
  }
  await database.close();
  return { migrations: MIGRATIONS, tables };
}
