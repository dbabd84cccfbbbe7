import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
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

test.skipIf(!existsSync("/proc/self/fd"))(
  "after a kill, after a power cut and after a torn last page, every committed row is there",
  async () => {
    const [state, disk] = [await freshState(), await freshFolder()];
    const program = new URL("../../../fixtures/trainer-killed-writer.ts", import.meta.url).pathname;
    const options = { stdio: ["ignore", "pipe", "inherit"] as ["ignore", "pipe", "inherit"] };
    const writer = spawn(process.execPath, ["--liftoff-only", program, state, disk], options);
    const [[end], [, signal]] = await Promise.all([once(writer.stdout, "data"), once(writer, "exit")]);
    expect(signal).toBe("SIGKILL");
    const { file_name, file_offset } = JSON.parse(String(end)) as { file_name: string; file_offset: number };
    const log = join(disk, "database", "pg_wal", file_name);
    writeFileSync(log, readFileSync(log).fill(0xa5, file_offset, file_offset + 20_000));
    for (const folder of [state, disk]) {
      const lock = await lockState(folder);
      const database = await openDatabase(null, folder);
      expect(await count(database)).toBe(8);
      await database.query(insert, ["after the repair"]);
      await database.close();
      lock.release();
    }
  },
);

test("rows that are replaced again and again take no more and more disk space", async () => {
  const database = await openDatabase(null, await freshState());
  await database.query(insert, ["flat"]);
  const rewrite = async () => {
    for (let i = 0; i < 50; i++)
      await database.query("update shortlist.erasure_salts set salt = repeat($1, 3000)", [String(i)]);
    await database.maintain();
    const [size] = await database.query("select pg_total_relation_size('shortlist.erasure_salts') as bytes");
    return Number(size!.bytes);
  };
  const first = await rewrite();
  expect(await rewrite()).toBe(first);
  await database.close();
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
