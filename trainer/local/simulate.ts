/** Simulated traffic for the demo shop (`npm start -- --simulate`), so that there is something to compare in an experiment. */
import { setTimeout } from "node:timers/promises";
import type { ExperimentReport } from "../../shared/experiment/report.ts";
import { seededRandom } from "../learn/numerics/seeded-random.ts";
import type { Terminal } from "../terminal.ts";
import { makeTaste } from "./demo-tastes.ts";
import { ensureModel } from "./ensure-model.ts";
import { LocalError } from "./local-error.ts";
import type { LocalSource } from "./local-source.ts";
import { callService, expectStatus, type Service } from "./service-client.ts";
import { type VisitCounts, visit } from "./simulated-shopper.ts";

type Simulation = {
  readonly model: string;
  readonly print: (line: string) => void;
  readonly seed?: number;
  /** New shoppers in a second. A visit makes about seven calls, and a key may make 100 in a second. */
  readonly shoppersPerSecond?: number;
  /** Milliseconds that a shopper looks at a list, on average. */
  readonly thinkMs?: number;
  /** A line is printed after so many arrivals. */
  readonly lineEvery?: number;
};

/** Usually 40 shoppers are there at once. If the service is slow, more do not come, so that it still answers its console. */
const PRESENT_MAX = 60;
/** The first version learns from the weeks up to here, so the one after it is visibly better. */
const FIRST_WEEKS_END = "2025-04-11";
/** No scenario is best: nobody likes one item of each category, and bestsellers are the same for everybody, so they are worst. */
const SCENARIOS = {
  varied: { max_per_value: { category: 1 } },
  bestsellers: { strategy: "popular" },
};

/** Creates the model with what the shop knew after its first weeks. Does nothing if the model exists. */
export async function ensureFirstVersion(
  service: Service,
  { body, changedMs }: Pick<LocalSource, "body" | "changedMs">,
  terminal: Terminal,
): Promise<void> {
  if ((await callService(service, "GET", `/v0/models/${body.model_name}`)).status !== 404) return;
  terminal.print(`Two versions to compare: the first one learns from what the shop knew on ${FIRST_WEEKS_END}.`);
  const { interaction } = body.schema;
  const query = `${interaction.source.query} WHERE created_at < TIMESTAMP '${FIRST_WEEKS_END}'`;
  const early = { ...interaction, source: { ...interaction.source, query } };
  await ensureModel(
    service,
    { body: { ...body, schema: { ...body.schema, interaction: early } }, changedMs },
    terminal,
  );
}

/** Stores the scenarios, and returns their names. */
export async function putScenarios(service: Service, model: string): Promise<string[]> {
  for (const [name, scenario] of Object.entries(SCENARIOS))
    expectStatus(await callService(service, "PUT", `/v0/models/${model}/scenarios/${name}`, scenario), 200);
  return Object.keys(SCENARIOS);
}

/**
 * Lets new shoppers come until the service's signal is aborted, and prints now and then what they did and what a running experiment shows.
 * Calls that fail are counted; their shoppers leave.
 */
export async function simulate(service: Service, simulation: Simulation): Promise<void> {
  const { model, print, seed = Date.now(), shoppersPerSecond = 6, thinkMs, lineEvery = 180 } = simulation;
  const counts: VisitCounts = { lists: 0, events: 0, purchases: 0 };
  const failed = { count: 0, last: "" };
  const broken = Promise.withResolvers<never>();
  let present = 0;
  const visitAs = async (number: number) => {
    const random = seededRandom(seed, number);
    const shopper = { id: `shopper-${seed.toString(36)}-${number}`, taste: makeTaste(random), random };
    await visit(service, shopper, { model, counts, ...(thinkMs !== undefined && { thinkMs }) });
  };
  const onFailure = (error: unknown) => {
    if (service.signal.aborted) return;
    if (!(error instanceof LocalError)) return broken.reject(error);
    failed.count++;
    failed.last = error.message;
  };

  try {
    for (let shoppers = 0; ; ) {
      await Promise.race([setTimeout(1000 / shoppersPerSecond, undefined, { signal: service.signal }), broken.promise]);
      if (present >= PRESENT_MAX) continue;
      present++;
      void visitAs(++shoppers)
        .catch(onFailure)
        .finally(() => present--);
      if (shoppers % lineEvery > 0) continue;
      print(`${lineOf(shoppers, counts)}${failed.count > 0 ? `, ${failed.count} failed calls: ${failed.last}` : "."}`);
      const shown = await experimentText(service, model);
      if (shown !== undefined) print(shown);
    }
  } catch (error) {
    if (!service.signal.aborted) throw error;
  }
}

const lineOf = (shoppers: number, { lists, events, purchases }: VisitCounts): string => {
  const [of, ...others] = [shoppers, lists, events, purchases].map((count) => count.toLocaleString("en-US"));
  return `Simulated: ${of} shoppers, ${others[0]} lists, ${others[1]} events, ${others[2]} purchases`;
};

/** The arms of the running experiment, and its verdict; undefined if none is running, or if the service does not say. */
async function experimentText(service: Service, model: string): Promise<string | undefined> {
  const answer = await callService(service, "GET", `/v0/models/${model}/experiment`).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const { name, verdict, arms } = answer.body as ExperimentReport;
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
  const texts = arms.map(({ name, exposed, rate, lift }) => {
    const interval = lift ? ` (${percent(lift.low)} to ${percent(lift.high)} against the first)` : "";
    return `${name} ${percent(rate)} of ${exposed}${interval}`;
  });
  return `  Experiment ${name}, ${verdict.replaceAll("_", " ")}: ${texts.join(", ")}.`;
}
