import { randomUUID } from "node:crypto";
import { type Bench, type BenchContext, type Figure, quantile } from "./bench.ts";
import { type DeployedCall, faultsOf, type SentCall } from "./deployed-call.ts";

const CALLS = 200;
const AT_ONCE = 4;
const LIMIT = 15;
const TIMEOUT_MS = 30_000;
/** The fraction of calls that may have no answer or one of 500 and above. More of them fail the bench. */
const ERROR_FRACTION_MAX = 0.001;

/**
 * Judges a deployed edge from outside: `--edge URL --key KEY --model NAME`. Reports latency by data centre (header cf-ray), of calls that
 * waited for R2 or the cache (`cold`) and of others (`warm`), versions and errors. Checks that no list has an item twice, an item of the
 * session, or too many items. `--users a,b,c` adds calls of these known users, and `--calls 1000` changes their number.
 */
export const deployed: Bench = async (context) => {
  const { say, fail, flags } = context;
  const [edge, key, model] = ["edge", "key", "model"].map((name) => flags.get(name) ?? "");
  if (!edge || !key || !model) {
    if (flags.has("edge")) fail("--key and --model are required, too");
    else say("  skipped: it needs --edge URL --key KEY --model NAME");
    return [];
  }
  const url = `${edge.replace(/\/$/, "")}/v0/models/${encodeURIComponent(model)}/rank`;
  const users = [undefined, ...(flags.get("users")?.split(",") ?? [])];
  const calls: DeployedCall[] = [];
  let begun = 0;
  const lane = async () => {
    let seen: readonly unknown[] = [];
    while (begun++ < Number(flags.get("calls") ?? CALLS)) {
      const user_id = users[begun % users.length];
      const interactions = seen.slice(0, 3).map((item_id) => ({ item_id }));
      const call = await callEdge(url, key, { user_id, limit: LIMIT, interactions });
      calls.push(call);
      seen = call.items ?? [];
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const figures = figuresOf(calls);
  printFigures(calls, figures, context);
  const faults = calls.flatMap(({ faults }) => faults);
  for (const fault of new Set(faults)) fail(fault);
  const errors = calls.filter(({ status }) => status === 0 || status >= 500).length;
  if (errors > ERROR_FRACTION_MAX * calls.length) fail(`${errors} of ${calls.length} calls failed`);
  say(`  ${calls.length} lists checked for repeats and seen items: ${faults.length} faults`);
  return figures;
};

async function callEdge(url: string, key: string, sent: SentCall): Promise<DeployedCall> {
  const startedMs = performance.now();
  const headers = { "x-api-key": key, "content-type": "application/json", "x-request-id": randomUUID() };
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(sent), signal });
    const body = (await answer.json()) as unknown;
    const waits = [...(answer.headers.get("server-timing") ?? "").matchAll(/dur=([\d.]+)/g)].map(([, ms]) =>
      Number(ms),
    );
    return {
      ms: performance.now() - startedMs,
      status: answer.status,
      dataCentre: answer.headers.get("cf-ray")?.split("-")[1] ?? "unknown",
      version: answer.headers.get("x-model-version"),
      isWarm: waits.every((ms) => ms === 0),
      items: answer.status === 200 && Array.isArray(body) ? body : undefined,
      faults: faultsOf(sent, answer.status, body),
    };
  } catch (error) {
    const faults = [`no answer: ${error instanceof Error ? error.message : String(error)}`];
    const ms = performance.now() - startedMs;
    return { ms, status: 0, dataCentre: "unknown", version: null, isWarm: false, items: undefined, faults };
  }
}

function figuresOf(calls: readonly DeployedCall[]): Figure[] {
  const ranked = calls.filter(({ status }) => status === 200);
  const groups = Map.groupBy(ranked, ({ dataCentre, isWarm }) => `${dataCentre}.${isWarm ? "warm" : "cold"}`);
  const latencies = [...groups].flatMap(([group, own]) => [
    { name: `deployed.${group}.calls`, value: own.length, unit: "calls" },
    ...[0.5, 0.95].map((share) => ({
      name: `deployed.${group}.p${100 * share}`,
      value: quantile(
        own.map(({ ms }) => ms),
        share,
      ),
      unit: "ms",
    })),
  ]);
  return [
    ...latencies,
    { name: "deployed.versions", value: new Set(ranked.map(({ version }) => version)).size, unit: "versions" },
    { name: "deployed.errors", value: calls.length - ranked.length, unit: "calls" },
  ];
}

function printFigures(calls: readonly DeployedCall[], figures: readonly Figure[], { say }: BenchContext): void {
  for (const { name, value, unit } of figures) say(`  ${name}: ${value.toFixed(1)} ${unit}`);
  for (const [version, own] of Map.groupBy(calls, (call) => call.version))
    say(`  version ${version}: ${own.length} calls`);
  for (const [status, own] of Map.groupBy(calls, (call) => call.status)) say(`  status ${status}: ${own.length} calls`);
}
