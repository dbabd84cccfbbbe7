/** What concerns one customer: limits, keys that expire, and secrets that its models need. */
import { X509Certificate } from "node:crypto";
import { fault, ok, warning } from "../../../shared/health.ts";
import type { CustomerCaps } from "../../settings.ts";
import { keysOf } from "../../store/key-store.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { Model } from "../records/model-transitions.ts";
import type { Check } from "./checks.ts";
import { expiryFinding, SOON_MS } from "./expiry-checks.ts";

/** The fraction of a limit from which on it is a warning. */
const NEARLY_FULL = 0.9;

type Used = { readonly models: number; readonly runs: number };

export const checkLimits = ({ models, runs }: Used, caps: Pick<CustomerCaps, "models" | "queue">): Check => ({
  name: "limits",
  run: async () => {
    const finding = `${models} of ${caps.models} models, ${runs} of ${caps.queue} runs that wait or work`;
    const isNearlyFull = models >= NEARLY_FULL * caps.models || runs >= NEARLY_FULL * caps.queue;
    const remedy = "Delete models that are not needed, or ask the operator for more.";
    return isNearlyFull ? warning(finding, remedy) : ok(finding);
  },
});

export const checkCustomerKeys = (store: ObjectStore, customer: string, nowMs: () => number): Check => ({
  name: "api keys",
  run: (signal) => expiryFinding(keysOf(store, customer), { signal, nowMs: nowMs() }),
});

/** The secrets that the models' connectors name: each must be there, and a certificate must not be about to expire. */
export const checkSourceSecrets = (
  models: readonly Pick<Model, "modelName" | "spec">[],
  secret: (name: string) => string | undefined,
  nowMs: () => number,
): Check => ({
  name: "secrets of sources",
  run: async () => {
    const named = models.flatMap(({ modelName, spec }) =>
      secretNames(spec.connector_configs).map((name) => ({ modelName, name, value: secret(name) })),
    );
    const missing = named.find(({ value }) => value === undefined);
    if (missing !== undefined)
      return fault(
        `${missing.name}, which ${missing.modelName} needs, is not set`,
        "The operator sets it where the trainer runs, and starts the trainer again.",
      );
    for (const { name, modelName, value } of named) {
      const untilMs = validUntilMs(value!);
      if (untilMs !== undefined && untilMs < nowMs() + SOON_MS)
        return warning(
          `the certificate ${name} of ${modelName} is valid until ${new Date(untilMs).toISOString()}`,
          "Give the operator the new one before.",
        );
    }
    return ok(named.length === 0 ? "none is needed" : `${named.length} are set`);
  },
});

/** The names in all `{"env": "NAME"}`. */
function secretNames(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("env" in value && typeof value.env === "string") return [value.env];
  return Object.values(value).flatMap(secretNames);
}

/** Undefined for a secret that is no certificate. */
function validUntilMs(secret: string): number | undefined {
  if (!secret.includes("-----BEGIN CERTIFICATE-----")) return undefined;
  try {
    return Date.parse(new X509Certificate(secret).validTo);
  } catch {
    return undefined; // the next training says what is wrong with it
  }
}
