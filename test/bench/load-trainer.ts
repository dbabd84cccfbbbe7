import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../trainer/local/free-port.ts";
import { FORWARD_SECRET } from "../fixtures/edge-world.ts";
import { environmentOf } from "../fixtures/trainer-client.ts";

export type MortalTrainer = {
  readonly url: string;
  start(): Promise<void>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
};

const PROGRAM = new URL("../fixtures/trainer-process.ts", import.meta.url).pathname;

/** The management of a real trainer, in a process of its own. Address and database stay the same after a kill. */
export async function mortalTrainer(): Promise<MortalTrainer> {
  const folder = await mkdtemp(join(tmpdir(), "load-trainer-"));
  const port = await freePort();
  const env = { ...environmentOf(folder), FORWARD_SECRET, SHORTLIST_TRAINER_PORT: String(port) } as NodeJS.ProcessEnv;
  let trainer: ChildProcess | undefined;
  const kill = async () => {
    if (!trainer || trainer.exitCode !== null || trainer.signalCode !== null) return;
    const ended = once(trainer, "exit");
    trainer.kill("SIGKILL");
    await ended;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    async start() {
      trainer = spawn(process.execPath, [PROGRAM, folder], { stdio: ["ignore", "pipe", "inherit"], env });
      // In production it is on another machine, so its start must not take the isolate's core.
      setPriority(trainer.pid!, constants.priority.PRIORITY_LOW);
      await Promise.race([once(trainer.stdout!, "data"), once(trainer, "exit")]);
    },
    kill,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
