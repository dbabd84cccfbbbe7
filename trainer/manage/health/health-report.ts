import type { Finding, TrainerHealth } from "../../../shared/health.ts";
import { PRODUCT_VERSION } from "../../../shared/product.ts";
import { redacted } from "../../log/redaction.ts";
import type { Settings } from "../../settings.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { Database } from "../records/database.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import { runChecks } from "./checks.ts";
import { checkCustomerKeys, checkLimits, checkSourceSecrets } from "./customer-checks.ts";
import { modelFindings } from "./model-findings.ts";
import { operatorChecks } from "./operator-checks.ts";

export type HealthParts = {
  readonly settings: Settings;
  readonly store: ObjectStore;
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly nowMs: () => number;
};

/** The models of a customer that are looked at, the first by name. */
const MODELS_MAX = 200;
/** The operator's checks read the bucket and the edge, so several open pages share their findings. */
const OPERATOR_MS = 30_000;

/** What the trainer knows of a customer's health. Only the operator's own customer gets the findings about machine and bucket. */
export function healthReporter(parts: HealthParts): (customer: string) => Promise<TrainerHealth> {
  const { settings, nowMs } = parts;
  const operator = shared(() => runChecks(operatorChecks(settings, nowMs)), OPERATOR_MS, nowMs);
  return async (customer) => {
    const [findings, ofOperator] = await Promise.all([
      customerFindings(customer, parts),
      customer === settings.operator ? operator() : null,
    ]);
    const report = { findings, operator: ofOperator };
    return {
      checked_at: new Date(nowMs()).toISOString(),
      ...redacted(report, settings.secrets),
      version: PRODUCT_VERSION,
    };
  };
}

async function customerFindings(customer: string, parts: HealthParts): Promise<Finding[]> {
  const { settings, store, database, registry, ledger, nowMs } = parts;
  const [{ models }, count, runs] = await Promise.all([
    registry.list(customer, { limit: MODELS_MAX, afterName: undefined, status: undefined }),
    registry.countOf(customer, database),
    ledger.countOf(customer, database),
  ]);
  const checks = [
    checkSourceSecrets(models, settings.connectorsOf(customer, "").secret, nowMs),
    checkCustomerKeys(store, customer, nowMs),
    checkLimits({ models: count, runs }, settings.caps),
  ];
  const checked = models.map(({ modelName, trainedAt, data, failure, scenarioProblems }) => ({
    ...{ model_name: modelName, trained_at: trainedAt, data, failure },
    scenario_problems: scenarioProblems,
  }));
  return [...modelFindings(checked, nowMs()), ...(await runChecks(checks))];
}

/** The work's last result while it is young; callers at the same time share one attempt. */
function shared<Value>(work: () => Promise<Value>, freshMs: number, nowMs: () => number): () => Promise<Value> {
  let begun: { readonly atMs: number; readonly value: Promise<Value> } | undefined;
  return () => {
    if (begun === undefined || nowMs() - begun.atMs > freshMs) begun = { atMs: nowMs(), value: work() };
    return begun.value;
  };
}
