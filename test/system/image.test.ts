/** The image of the whole service: laid out as the Dockerfile does it, or built where a Docker daemon is there. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../trainer/local/free-port.ts";
import { bundleWorker } from "../../trainer/serve/worker-bundle.ts";
import { endService, type StartedService, startCommand } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCKERFILE = readFileSync(join(ROOT, "trainer/Dockerfile"), "utf8");
const COMPOSE = readFileSync(join(ROOT, "trainer/compose.yaml"), "utf8");

let folder: string;
let service: StartedService | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "image-"));
});
afterAll(async () => {
  await endService(service);
  await rm(folder, { recursive: true, force: true });
});

/** The packages of `npm ci --omit=dev`, and the two that the Dockerfile adds. */
function packagesOfImage(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  const names = Object.entries(packages)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev)
    .map(([path]) => path.slice("node_modules/".length));
  return [
    ...names.filter((name) => !/^node-(linux|darwin|win|bin)/.test(name)),
    "workerd",
    "@cloudflare/workerd-linux-64",
  ];
}

test("the image's command starts the service with its packages alone", async () => {
  const app = join(folder, "app");
  await mkdir(join(app, "node_modules"), { recursive: true });
  for (const name of packagesOfImage()) {
    const from = join(ROOT, "node_modules", name);
    if (!existsSync(from)) continue; // of another platform
    await mkdir(dirname(join(app, "node_modules", name)), { recursive: true });
    await symlink(from, join(app, "node_modules", name));
  }
  for (const part of ["shared", "trainer"]) await cp(join(ROOT, part), join(app, part), { recursive: true });
  await cp(join(ROOT, "package.json"), join(app, "package.json"));
  await bundleWorker(join(folder, "bundle"));
  await putDatabase(join(folder, "state/trainer"));
  const [, entry] = [...DOCKERFILE.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(
    ([, json]) => JSON.parse(json!) as string[],
  );
  // From ranges of their own, since the service listens on them only after it has taken free ports for its parts, as other tests do.
  const [port, metricsPort] = [await freePort([10_000, 15_000]), await freePort([15_000, 20_000])];
  service = startCommand(entry!, {
    cwd: app,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: folder,
      NODE_ENV: "production",
      NODE_OPTIONS: "--preserve-symlinks --preserve-symlinks-main", // or packages would find those of this checkout
      SHORTLIST_EDGE_BUNDLE: join(folder, "bundle"),
      STATE: join(folder, "state"),
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      PUBLIC_URL: "https://rank.example",
    },
  });
  await service.printed("Up on https://rank.example");
  expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()).toContain("shortlist_database_up 1");
  const { api_key } = JSON.parse(await readFile(join(folder, "state/local.json"), "utf8")) as { api_key: string };
  const models = await fetch(`http://127.0.0.1:${port}/v0/models`, { headers: { "x-api-key": api_key } });
  expect(await models.json()).toEqual({ models: [] });
  service.process.kill("SIGTERM");
  expect(await service.exited).toBe(0);
});

test("what the Dockerfile copies is in the repository and not ignored, and the service is no root", () => {
  const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) => files!.split(" "));
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const allowed = readFileSync(join(ROOT, "trainer/Dockerfile.dockerignore"), "utf8").match(/(?<=^!).+$/gm);
  expect(copied.filter((path) => !allowed!.includes(path))).toEqual([]);
  expect([...DOCKERFILE.matchAll(/^USER (\w+)$/gm)].at(-1)![1]).toBe("node");
  for (const rights of ["read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"])
    expect(COMPOSE).toContain(rights);
  const [, dockerfile, target] = /dockerfile: (\S+), target: (\w+)/.exec(COMPOSE)!;
  expect(existsSync(join(ROOT, dockerfile!))).toBe(true);
  expect(DOCKERFILE).toContain(` AS ${target}\n`);
});

const hasDocker = spawnSync("docker", ["info"]).status === 0;
test.skipIf(!hasDocker)("the image of the trainer builds, and has less than 500 MB", { timeout: 900_000 }, () => {
  const tag = `shortlist-test-${process.pid}`;
  const build = ["build", "-f", "trainer/Dockerfile", "--target", "trainer", "-t", tag, "."];
  expect(spawnSync("docker", build, { cwd: ROOT, encoding: "utf8" })).toMatchObject({ status: 0 });
  const inspect = spawnSync("docker", ["image", "inspect", "-f", "{{.Size}}", tag], { encoding: "utf8" });
  spawnSync("docker", ["image", "rm", tag]);
  expect(Number(inspect.stdout)).toBeLessThan(500e6);
});
if (!hasDocker) console.log("No Docker daemon is there, so no image is built.");
