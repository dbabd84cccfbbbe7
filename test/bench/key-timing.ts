import { randomBytes } from "node:crypto";
import { formatApiKey } from "../../shared/api-key.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { type Bench, type Figure, quantile } from "./bench.ts";
import { separability, separabilityBy } from "./separability.ts";

const SAMPLES = 800;
const WARM_UP = 100;
const LANES = 4;
const SEPARABILITY_MAX = 0.05;
const RANK = "/v0/models/shop/rank";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A call whose answer must not tell, by its time, which of two it was. */
type Contestant = { readonly key: string; readonly path: string; readonly status: number };
type Contest = { readonly name: string; readonly a: readonly Contestant[]; readonly b: readonly Contestant[] };

/**
 * Whether the time of a refusal tells what the refusal does not: for each pair of causes the share of pairs of calls in
 * which the first was quicker. 0.5 is no difference. A few calls at a time, in drawn order, each with a key
 * or a name that the Worker has not met, since what it has met is remembered alike.
 */
export const keyTiming: Bench = async ({ say, flags, fail }) => {
  const count = Number(flags.get("samples") ?? SAMPLES);
  const edge = await startEdge({ vars: { KEY_CACHE_SECONDS: 25, POINTER_CACHE_SECONDS: 4 } });
  try {
    await edge.publish();
    say(`  issuing ${count} keys, to revoke them`);
    const asked = flags.get("contests")?.split(",");
    const contests = (await contestsOf(edge, count)).filter(({ name }) => asked?.includes(name) ?? true);
    const figures: Figure[] = [];
    for (const contest of contests) figures.push(...(await measured(edge, contest, say)));
    for (const { name, value } of figures.filter((figure) => figure.unit === "share"))
      if (Math.abs(value - 0.5) > SEPARABILITY_MAX)
        fail(`${name} is ${value.toFixed(3)}: the causes can be told apart`);
    return figures;
  } finally {
    await edge.stop();
  }
};

async function contestsOf(edge: EdgeWorld, count: number): Promise<Contest[]> {
  const { key: valid } = await edge.issueKey();
  const many = <Value>(make: (i: number) => Value) => Array.from({ length: count }, (_, i) => make(i));
  const refused = (key: string): Contestant => ({ key, path: RANK, status: 401 });
  const unknown = () => many(() => refused(formatApiKey(randomBytes(128))));
  const revoked: Contestant[] = [];
  for (let i = 0; i < count; i++) {
    const { key, keyId } = await edge.issueKey();
    await edge.revokeKey(keyId);
    revoked.push(refused(key));
  }
  for (let i = 0; i < count; i++) await edge.store.swap(`models/globex/theirs-${i}/live.json`, new Uint8Array(2), null);
  const absent = (name: string) => many((i) => ({ key: valid, path: `/v0/models/${name}-${i}/rank`, status: 404 }));
  return [
    { name: "unknown", a: unknown(), b: unknown() },
    { name: "revoked", a: unknown(), b: revoked },
    { name: "near_miss", a: unknown(), b: many(() => refused(nearMissOf(valid))) },
    { name: "others_model", a: absent("nobody"), b: absent("theirs") },
  ];
}

/** A well-formed key that differs from a valid one in its last three random characters only. */
function nearMissOf(valid: string): string {
  const body = [...valid.slice(3, 30)].map((character) => ALPHABET.indexOf(character));
  const near = formatApiKey(Uint8Array.from([...body, ...randomBytes(3)].map((byte) => byte % 62)));
  return near === valid ? nearMissOf(valid) : near;
}

async function measured(edge: EdgeWorld, { name, a, b }: Contest, say: (line: string) => void): Promise<Figure[]> {
  const random = seededRandom(1);
  const drawn = [...a.map((call) => ({ call, isA: true })), ...b.map((call) => ({ call, isA: false }))]
    .map((one) => ({ ...one, place: random() }))
    .sort((x, y) => x.place - y.place);
  const times: { readonly a: number[]; readonly b: number[] } = { a: [], b: [] };
  let next = 0;
  const lane = async () => {
    while (next < drawn.length) {
      const i = next++;
      const { call, isA } = drawn[i]!;
      const begin = performance.now();
      const answer = await edge.call(call.path, { key: call.key });
      await answer.arrayBuffer();
      const tookMs = performance.now() - begin;
      if (answer.status !== call.status) throw new Error(`${name}: ${answer.status} instead of ${call.status}`);
      if (i >= WARM_UP) times[isA ? "a" : "b"].push(tookMs);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane)); // a refusal is mostly waiting
  const [medianA, medianB] = [quantile(times.a, 0.5), quantile(times.b, 0.5)];
  const width = separabilityBy(times.a.length, times.b.length);
  say(
    `  ${name}: medians ${medianA.toFixed(3)} and ${medianB.toFixed(3)} ms; by chance alone 0.5 ± ${width.toFixed(3)}`,
  );
  return [
    { name: `key_timing.${name}.separability`, value: separability(times.a, times.b), unit: "share", reference: 0.5 },
    { name: `key_timing.${name}.p50`, value: medianB, unit: "ms", reference: medianA, ratio: medianB / medianA },
  ];
}
