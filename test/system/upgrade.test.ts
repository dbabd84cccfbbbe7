/** What the release before has written opens in this one. A newer release's is refused (settings-format.test.ts, database.test.ts). */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../../trainer/local/free-port.ts";
import { openDatabase } from "../../trainer/manage/records/database.ts";
import { MIGRATIONS } from "../../trainer/manage/records/migrations.ts";
import { modelRegistry } from "../../trainer/manage/records/model-registry.ts";
import { runLedger } from "../../trainer/manage/records/run-ledger.ts";
import { endService, type StartedService } from "../fixtures/started-service.ts";
import {
  callerOf,
  type FrozenRecords,
  RECORDS_FILE,
  runToEnd,
  SERVICE_FACTS_FILE,
  SERVICE_FILE,
  type ServiceFacts,
  serveProgram,
} from "../golden/frozen-service.ts";
import { frozen } from "../golden/release.ts";

let folder: string;
let service: StartedService | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "upgrade-"));
});
afterEach(async () => {
  await endService(service);
  await rm(folder, { recursive: true, force: true });
});

test("a service of the release before serves on: key, list, events, changed items, training", async () => {
  const { list, hidden, events } = frozen<ServiceFacts>(SERVICE_FACTS_FILE);
  const dir = join(folder, "service");
  await runToEnd("backup-cli", "restore", "--dir", dir, "--from", SERVICE_FILE);
  const path = join(dir, "settings.json");
  const port = await freePort();
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), port }));
  service = serveProgram("serve", "--dir", dir);
  await service.printed("Up on ");
  const call = callerOf(port, JSON.parse(await readFile(join(dir, "local.json"), "utf8")).api_key);
  expect((await call("/v0/models/shop/rank?user_id=visitor&limit=5")).body).toEqual(list);
  expect((await call("/v0/users/visitor/events")).body).toMatchObject({ events: Array(events).fill({ type: "view" }) });
  expect((await call("/v0/models/shop/items?changed=true")).body).toMatchObject({
    items: [{ item_id: hidden, hidden: true }],
  });
  expect((await call("/v0/models/shop")).body).toMatchObject({ status: "ACTIVE", model_name: "shop" });
  expect((await call("/v0/models/shop/train", undefined, "POST")).status).toBe(202);
}, 180_000);

test("the records of the release before are migrated with their models and runs", async () => {
  const { migrations, tables } = frozen<FrozenRecords>(RECORDS_FILE);
  expect(MIGRATIONS.slice(0, migrations.length)).toEqual(migrations); // a released step is never changed
  // As that release has made its database.
  const made = await openDatabase(null, folder, migrations);
  for (const [table, rows] of Object.entries(tables))
    for (const row of rows) {
      const places = Object.keys(row).map((_, i) => `$${i + 1}`);
      await made.query(
        `insert into shortlist.${table} (${Object.keys(row).join(", ")}) values (${places.join(", ")})`,
        Object.values(row),
      );
    }
  await made.close();

  const database = await openDatabase(null, folder);
  const registry = modelRegistry(database, Date.now);
  expect(await registry.find("acme", "model-0")).toMatchObject({ version: "v1", failure: null });
  expect(await registry.find("acme", "model-1")).toMatchObject({ failure: { code: "no_positives" } });
  expect(await runLedger(database, "new", 30).waiting(10, 10)).toMatchObject([{ modelName: "model-2" }]);
  await database.close();
});
