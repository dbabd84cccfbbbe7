import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Database, isDuplicate, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { lockState } from "../../../../trainer/manage/state-lock.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";
import { freshFolder, freshState, putDatabase } from "../../../fixtures/trainer-state.ts";

const insert = "insert into shortlist.erasure_salts (customer, salt) values ($1, '')";
const count = async (database: Database) =>
  Number((await database.query("select count(*) as n from shortlist.erasure_salts"))[0]!.n);

describe("one database", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(null, await freshState());
  });
  afterAll(() => database.close());

  test("a failed transaction changes nothing, and the next query works", async () => {
    const before = await count(database);
    const failing = database.transaction(async (inner) => {
      await inner.query(insert, ["lost"]);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await count(database)).toBe(before);
  });

  test("isDuplicate recognises a second row with the same key, and no other error", async () => {
    await database.query(insert, ["twice"]);
    expect(isDuplicate(await database.query(insert, ["twice"]).catch((error) => error))).toBe(true);
    expect(isDuplicate(await database.query("select nothing from nowhere").catch((error) => error))).toBe(false);
    expect(isDuplicate(undefined)).toBe(false);
  });

  test("a transaction that the server asks to repeat is repeated", async () => {
    let attempts = 0;
    const result = await database.transaction(async () => {
      attempts++;
      if (attempts < 3) throw Object.assign(new Error("retry"), { code: "40001" });
      return attempts;
    });
    expect(result).toBe(3);
  });
});

test("a process killed while it writes loses no committed row, and the next start needs no repair", async () => {
  const state = await freshFolder();
  const program = new URL("../../../fixtures/trainer-killed-writer.ts", import.meta.url).pathname;
  const [, signal] = await once(
    spawn(process.execPath, ["--liftoff-only", program, state], { stdio: "inherit" }),
    "exit",
  );
  expect(signal).toBe("SIGKILL");
  const lock = await lockState(state);
  const database = await openDatabase(null, state);
  expect(await count(database)).toBe(50);
  await database.close();
  lock.release();
});

test("a first start that was killed is repeated", async () => {
  const state = await freshFolder();
  await mkdir(join(state, "database.new", "base"), { recursive: true });
  await writeFile(join(state, "database.new", "PG_VERSION"), "17\n");
  const database = await openDatabase(null, state);
  expect(await count(database)).toBe(0);
  await database.close();
  expect((await readdir(state)).sort()).toEqual(["database"]);
});

test("a database from a newer trainer is refused", async () => {
  const state = await freshState();
  const newer = await openDatabase(null, state);
  await newer.query("insert into shortlist.migrations (step, applied_at) values (1000, now())");
  await newer.close();
  await expect(openDatabase(null, state)).rejects.toThrow("at step 1000, newer than this trainer");
});

test("the error for a server that does not answer has no password", async () => {
  const refused = openDatabase("postgres://user:planted@127.0.0.1:1/models", await freshState());
  await expect(refused).rejects.toThrow(/The database at DATABASE_URL does not answer: .*127\.0\.0\.1:1/);
  await expect(refused).rejects.not.toThrow("planted");
});

test("a query to a server that stops answering fails after a minute", async () => {
  const message = (type: string, body: readonly number[]) =>
    Buffer.from([type.charCodeAt(0), 0, 0, 0, 4 + body.length, ...body]);
  const welcome = Buffer.concat([message("R", [0, 0, 0, 0]), message("Z", ["I".charCodeAt(0)])]);
  let onQuery = () => {};
  const query = new Promise<void>((done) => (onQuery = done));
  const server = createServer((socket) => socket.once("data", () => socket.once("data", onQuery).write(welcome)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const keepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { port } = server.address() as AddressInfo;
    const opening = openDatabase(`postgres://user:planted@127.0.0.1:${port}/models`, "");
    const answer = expect(opening).rejects.toThrow("does not answer: Query read timeout");
    await query;
    await vi.advanceTimersByTimeAsync(65_000);
    await answer;
    expect(keepAlive.mock.calls[0]?.[0]).toBe(true);
  } finally {
    vi.useRealTimers();
    keepAlive.mockRestore();
    server.close();
  }
});

const full = smallDisk("80m");

test.skipIf(full === undefined)(
  "on a disk without room for the log the database refuses every statement, and this process lives on",
  async () => {
    await putDatabase(full!);
    const database = await openDatabase(null, full!);
    const { bavail, bsize } = statfsSync(full!);
    writeFileSync(join(full!, "filler"), new Uint8Array(bavail * bsize - 2 ** 20));
    // Each statement logs a megabyte, so that the log file of 16 MB is full soon.
    const logged = "select pg_logical_emit_message(false, 'x', repeat('x', 1000000))";
    const logging = async () => {
      for (let i = 0; i < 40; i++) await database.query(logged);
    };
    await expect(logging()).rejects.toThrow(/has given up: .*No space left on device/);
    await expect(database.query("select 1")).rejects.toThrow("has given up");
    await expect(database.transaction((queries) => queries.query("select 1"))).rejects.toThrow("has given up");
    await expect(database.failed).rejects.toThrow("has given up");
    await database.close().catch(() => undefined);
    rmSync(join(full!, "filler"));
    const again = await openDatabase(null, full!);
    expect(await again.query("select max(step) > 0 as is_there from shortlist.migrations")).toEqual([
      { is_there: true },
    ]);
    await again.close();
  },
);
