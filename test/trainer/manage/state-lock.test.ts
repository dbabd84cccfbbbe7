import { spawn } from "node:child_process";
import { once } from "node:events";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockState, StateLockedError } from "../../../trainer/manage/state-lock.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const HOLDER = `
  import { lockState } from "${new URL("../../../trainer/manage/state-lock.ts", import.meta.url)}";
  await lockState(process.argv[1]);
  console.log("held");
  setInterval(() => {}, 1000);
`;

test("a second process is refused with the first one's process id; a killed process leaves no lock", async () => {
  const folder = await freshFolder();
  const holder = spawn(process.execPath, ["--input-type=module", "--eval", HOLDER, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(holder.stdout, "data");
    const refused = lockState(folder);
    await expect(refused).rejects.toThrow(StateLockedError);
    await expect(refused).rejects.toThrow(`process ${holder.pid}`);
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
  (await lockState(folder)).release();
  (await lockState(folder)).release();
});

test.each([0, 100, 4096])("a damaged lock file of %i bytes does not lock the folder", async (length) => {
  const folder = await freshFolder();
  const path = join(folder, "trainer.lock");
  (await lockState(folder)).release();
  await truncate(path, length);
  (await lockState(folder)).release();
});
