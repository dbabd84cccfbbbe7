/** What `npm run doctor` looks at in a service's folder and by HTTP. Each check has a remedy for what it finds. */
import { stat } from "node:fs/promises";
import * as z from "zod";
import { fault, ok, warning } from "../../shared/health.ts";
import { PRODUCT_VERSION } from "../../shared/product.ts";
import { tryPort } from "../local/free-port.ts";
import { callService, expectStatus } from "../local/service-client.ts";
import type { Check } from "../manage/health/checks.ts";
import { modelFindings } from "../manage/health/model-findings.ts";

const MODELS_MAX = 100;

/** The settings have secrets. */
export const checkSecrets = (path: string): Check => ({
  name: "secrets",
  run: async () => {
    const mode = (await stat(path)).mode & 0o777;
    if ((mode & 0o077) === 0) return ok(`only its owner can read ${path}`);
    return fault(`others can read ${path}, which has secrets`, `chmod 600 ${path}`);
  },
});

/** A service that does not run needs its port; one that runs answers on it. */
export const checkPort = (port: number, isRunning: boolean): Check => ({
  name: "port",
  run: async () => {
    const code = await tryPort(port).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (isRunning) return ok(`the service runs on port ${port}`);
    if (code === undefined) return ok(`port ${port} is free`);
    return fault(
      `port ${port} cannot be used (${code})`,
      "Stop the program that uses it, or change port in settings.json.",
    );
  },
});

type Called = {
  readonly edgeUrl: string;
  readonly apiKey: string;
  /** Where the key is from, for the remedy. */
  readonly keyPlace: "local.json" | "SHORTLIST_API_KEY";
};

/** What is looked at of a model's record, whose other fields may be of another release. */
const Checkable = z.object({
  model_name: z.string(),
  trained_at: z.string().nullable(),
  data: z.object({ to: z.string().nullable() }).nullable(),
  failure: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
  scenario_problems: z.array(z.object({ scenario: z.string(), problems: z.array(z.string()) })).nullable(),
});

const KEY_REMEDY = {
  "local.json": "Delete local.json and start the service again.",
  SHORTLIST_API_KEY: "Issue another with npm run keys, and set it.",
};

/** The first customer's key, and what its models say about their sources and their age. */
export const checkModels = ({ edgeUrl, apiKey, keyPlace }: Called, nowMs: () => number): Check => ({
  name: "models",
  run: async (signal) => {
    const answer = await callService({ edgeUrl, apiKey, signal }, "GET", `/v0/models?limit=${MODELS_MAX}`);
    if (answer.status === 401) return fault(`the key of ${keyPlace} is not valid`, KEY_REMEDY[keyPlace]);
    const { models } = expectStatus(answer, 200) as { models: unknown[] };
    const found = modelFindings(
      models.map((model) => Checkable.parse(model)),
      nowMs(),
    );
    const { name, ...worst } = found.find(({ state }) => state === "fault") ?? found[0]!;
    if (worst.state === "ok") return worst;
    const others = found.length > 1 ? `, and ${found.length - 1} more` : "";
    return { ...worst, finding: `${name}: ${worst.finding}${others}` };
  },
});

const Health = z.looseObject({ version: z.string().max(50).optional() });

/** Whether the running parts are of this release. Neighbouring releases work together, so a difference is a warning. */
export const checkVersions = (urls: Readonly<Record<string, string>>): Check => ({
  name: "versions",
  run: async (signal) => {
    const parts = Object.entries(urls).map(async ([part, url]) => {
      const answer = await fetch(`${url}/health/live`, { signal }).catch(() => undefined);
      if (answer === undefined) return undefined; // another check says so
      const health = Health.safeParse(await answer.json().catch(() => undefined));
      return { part, version: (health.success && health.data.version) || "an older release" };
    });
    const found = (await Promise.all(parts)).filter((part) => part !== undefined);
    const text = found.map(({ part, version }) => `${part} ${version}`).join(", ");
    const differing = found.filter(({ version }) => version !== PRODUCT_VERSION);
    if (differing.length === 0) return ok(text || "nothing answers that could be compared");
    const names = differing.map(({ part }) => part).join(" and ");
    return warning(
      `${text}; here ${PRODUCT_VERSION}`,
      `Bring ${names} to the release of this folder: deploy it, or start it again.`,
    );
  },
});
