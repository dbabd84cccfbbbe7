import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { CronExpressionParser } from "cron-parser";
import { expect, test } from "vitest";
import * as z from "zod";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const textOf = (name: string) => readFileSync(`trainer/examples/${name}`, "utf8");
const Container = z.looseObject({
  args: z.array(z.string()),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
});
const pod = <Spec extends z.ZodRawShape>(spec: Spec) =>
  z.object({ spec: z.object({ ...spec, containers: z.array(Container).length(1) }) });
const CronJob = z.object({
  kind: z.literal("CronJob"),
  spec: z.object({
    schedule: z.string().transform((line) => CronExpressionParser.parse(line)),
    concurrencyPolicy: z.literal("Forbid"),
    jobTemplate: z.object({ spec: z.looseObject({ template: pod({ restartPolicy: z.literal("Never") }) }) }),
  }),
});
const CloudRunJob = z.object({
  kind: z.literal("Job"),
  spec: z.object({ template: z.object({ spec: z.object({ template: pod({ maxRetries: z.int() }) }) }) }),
});

/** The entry point of the image, as arguments for Node. */
const entryPoint = () => {
  const [, json] = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync("trainer/Dockerfile", "utf8"))!;
  return z
    .tuple([z.literal("node")], z.string())
    .parse(JSON.parse(json!))
    .slice(1);
};

/** All required settings. The database refuses connections, so a trainer that accepts its arguments and settings ends there. */
const COMPLETE = {
  PATH: process.env.PATH,
  FORWARD_SECRET: "f".repeat(32),
  SHORTLIST_EDGE_URL: "https://rank.example",
  SHORTLIST_S3_ENDPOINT: "https://account.example",
  SHORTLIST_S3_BUCKET: "models",
  SHORTLIST_S3_ACCESS_KEY_ID: "id",
  SHORTLIST_S3_SECRET_ACCESS_KEY: "secret",
  DATABASE_URL: "postgres://trainer@127.0.0.1:1/shortlist",
};

async function expectToReachTheDatabase(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const state = { SHORTLIST_STATE_DIR: await freshFolder() };
  const env = { ...state, ...environment } as NodeJS.ProcessEnv;
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  expect(stderr).toContain("ECONNREFUSED");
  expect(status).toBe(1);
}

test("the CronJob starts the image's entry point with arguments that the trainer accepts", async () => {
  const [container] = CronJob.parse(JSON.parse(textOf("kubernetes-cronjob.json"))).spec.jobTemplate.spec.template.spec
    .containers;
  expect(container!.args).toContain("--once");
  await expectToReachTheDatabase([...entryPoint(), ...container!.args], COMPLETE);
});

test("the Cloud Run job has every required setting", async () => {
  const [container] = CloudRunJob.parse(JSON.parse(textOf("cloud-run-job.json"))).spec.template.spec.template.spec
    .containers;
  const values = container!.env.map(({ name, value }) => [name, value ?? COMPLETE[name as keyof typeof COMPLETE]]);
  expect(container!.args).toContain("--once");
  await expectToReachTheDatabase([...entryPoint(), ...container!.args], {
    PATH: COMPLETE.PATH,
    ...Object.fromEntries(values),
  });
});

test("the cron line has five fields and runs a script of package.json", async () => {
  const line = textOf("crontab")
    .split("\n")
    .find((text) => /^[^#]/.test(text))!;
  const [, schedule, script, args] = /^((?:\S+ ){5})cd \S+ && npm run --silent (\S+) -- (.+) >> \S+ 2>&1$/.exec(line)!;
  expect(CronExpressionParser.parse(schedule!.trim()).hasNext()).toBe(true);
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  expect(scripts[script!]).toBe("node trainer/shortlist.ts train");
  await expectToReachTheDatabase(["trainer/shortlist.ts", "train", ...args!.split(" ")], COMPLETE);
});
