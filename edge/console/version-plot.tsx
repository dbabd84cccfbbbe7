import type { RunList, VersionList } from "../client/shortlist.ts";
import { Plot } from "./plot.tsx";
import type { Point } from "./points-plot.ts";

type Version = VersionList["versions"][number];
type Run = RunList["runs"][number];
type Quality = NonNullable<Version["quality"]>;
type Made = { readonly at: string; readonly quality: Quality; readonly isRefused: boolean };

const SHORT = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** Quality of the versions that were made, beside popularity on the same users. Tables here and under Runs have the numbers as text. */
export function VersionPlot({ versions, runs }: { versions: readonly Version[]; runs: readonly Run[] }) {
  const made = madeBy(versions, runs);
  if (made.length < 2) return null;
  const { metric } = made.at(-1)!.quality;
  const load = async () => {
    const { pointsPlot } = await import("./points-plot.ts");
    const values = (x: number) => (made[x] ? SHORT.format(Date.parse(made[x].at)) : "");
    return pointsPlot(pointsOf(made), { x: { label: "made", values }, y: metric.toUpperCase() });
  };
  return (
    <Plot
      caption={
        <>
          Quality with its 95 % interval, in the order in which versions were made. Filled are versions that went live,
          hollow are refused ones, small is popularity. Each is measured on the newest interactions of its time, so
          compare it with popularity beside it.
        </>
      }
      load={load}
      inputs={[versions, runs]}
    />
  );
}

/** Versions of the last runs and stored ones, oldest first, as far as they are measured in the same metric as the newest. */
function madeBy(versions: readonly Version[], runs: readonly Run[]): Made[] {
  const ofRuns = runs.map(({ ended_at: at, quality, outcome }) => ({ at, quality, isRefused: outcome === "refused" }));
  const known = new Set(runs.map(({ version }) => version));
  const older = versions.filter(({ version }) => !known.has(version));
  const all = [...ofRuns, ...older.map(({ created_at: at, quality }) => ({ at, quality, isRefused: false }))]
    .flatMap((made) => (made.quality?.chosen.value == null ? [] : [{ ...made, quality: made.quality }]))
    .sort((a, b) => a.at.localeCompare(b.at));
  return all.filter(({ quality }) => quality.metric === all.at(-1)!.quality.metric);
}

function pointsOf(made: readonly Made[]): Point[] {
  return made.flatMap(({ quality: { chosen, popularity }, isRefused }, x) => {
    const ours = { x, y: chosen.value!, low: chosen.low!, high: chosen.high!, name: "", isFilled: !isRefused };
    return popularity.value === null
      ? [ours]
      : [ours, { x, y: popularity.value, name: "popularity", isFilled: false, isQuiet: true }];
  });
}
