import type { ModelRecord } from "../client/shortlist.ts";
import { count } from "./figures.ts";
import { Plot } from "./plot.tsx";
import { Table } from "./widgets.tsx";

const DAY_MS = 86_400_000;

type RecentDays = NonNullable<NonNullable<ModelRecord["data"]>["recent_days"]>;

/** How many interactions each of the last days has. A source that has stopped shows as a gap. */
export function Days({ from, interactions }: RecentDays) {
  const days = interactions.map((count, at) => ({ date: dateOf(Date.parse(from) + at * DAY_MS), count }));
  const empty = days.filter((day) => day.count === 0).length;
  const newest = days.at(-1)!;
  const total = days.reduce((sum, day) => sum + day.count, 0);
  const load = async () => (await import("./days-plot.ts")).daysPlot(days);
  return (
    <section>
      <h2>Interactions per day</h2>
      <p>
        {count(newest.count)} on the newest day, {newest.date}. The last {count(days.length)} days up to it have{" "}
        {count(Math.round(total / days.length))} on average,{" "}
        {empty === 0 ? "and each has some" : `and ${count(empty)} of them have none`}.
      </p>
      {days.length > 1 && <Plot caption="By day, UTC." load={load} inputs={[interactions]} height={180} />}
      <details>
        <summary>As numbers</summary>
        <Table label="Interactions per day" head={["Day", "Interactions"]}>
          {days.toReversed().map((day) => (
            <tr key={day.date}>
              <th scope="row">{day.date}</th>
              <td>{count(day.count)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </section>
  );
}

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
