import { useRef } from "preact/hooks";
import type { ExperimentReport } from "../client/shortlist.ts";
import { change } from "./experiment-spec.ts";
import { count } from "./figures.ts";
import { coloursIn, DASHES, Legend } from "./legend.tsx";
import { Plot } from "./plot.tsx";
import { Table } from "./widgets.tsx";

const TIME = new Intl.DateTimeFormat("en", {
  ...{ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
});

type History = ExperimentReport["history"];

/** The lift of each arm over the first one since the beginning, with its interval. */
export function ExperimentPlot({ report: { arms, history } }: { report: ExperimentReport }) {
  const legend = useRef<HTMLUListElement>(null);
  const [first, ...others] = arms;
  const lines = others.map(({ name, lift }) => ({ name, total: lift ? change(lift.value) : "–" }));
  const load = async () => {
    const { liftPlot } = await import("./lift-plot.ts");
    const colours = coloursIn(legend.current!);
    const times = history.map(({ until }) => Date.parse(until) / 1000);
    const liftsOf = (at: number) => history.map((entry) => entry.arms[at + 1]!.lift ?? null);
    return liftPlot(
      times,
      others.map((_, at) => ({ colour: colours[at]!, dash: DASHES[at]!, lifts: liftsOf(at) })),
    );
  };
  if (!history.some((entry) => entry.arms.some(({ lift }) => lift))) return null;
  return (
    <section class="block">
      <h2>Lift over {first!.name}</h2>
      <Legend lines={lines} list={legend} />
      <Plot
        caption="The users whose first list came until then. The intervals hold at all times together: one may stop at any verdict."
        load={load}
        inputs={[history]}
      />
      <details>
        <summary>As numbers</summary>
        <Numbers history={history} />
      </details>
    </section>
  );
}

function Numbers({ history }: { history: History }) {
  const names = history[0]!.arms.map(({ name }) => name);
  return (
    <Table label="The arms over time" head={["Until", ...names]}>
      {history.toReversed().map(({ until, arms }) => (
        <tr key={until}>
          <th scope="row">{TIME.format(Date.parse(until))}</th>
          {arms.map(({ name, exposed, reached, lift }) => (
            <td key={name}>
              {count(reached)} of {count(exposed)} {lift && <LiftText lift={lift} />}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

type Lift = NonNullable<History[number]["arms"][number]["lift"]>;

/** A lift and its interval. */
export const LiftText = ({ lift: { value, low, high } }: { lift: Lift }) => (
  <>
    {change(value)}{" "}
    <span class="quiet">
      ({change(low)} to {change(high)})
    </span>
  </>
);
