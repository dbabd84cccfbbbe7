import { useMemo } from "preact/hooks";
import type { Live } from "../client/shortlist.ts";
import { ago, clock, count } from "./figures.ts";
import { LINES_MAX } from "./legend.tsx";
import { useLoaded } from "./loaded.ts";
import { type MinutesLine, MinutesPlot } from "./minutes-plot.tsx";
import { client } from "./session.ts";
import { Table, WhenLoaded } from "./widgets.tsx";

const AGAIN_MS = 5000;

type Minute = Live["minutes"][number];
type Counted = "events" | "lists" | "refusals";
type Counts = Minute[Counted];

/** The last hour of all models together. */
export function LivePage() {
  const live = useLoaded(
    (signal) => client.value.viewLive({ signal }),
    [client.value],
    () => AGAIN_MS,
  );
  return (
    <>
      <div class="title">
        <h1>The last hour</h1>
        <p class="quiet">All models together. Read again every {AGAIN_MS / 1000} seconds while you look at it.</p>
      </div>
      <WhenLoaded from={live}>
        {(hour) => (hour.minutes.every(isQuiet) ? <Nothing /> : <Hour hour={hour} />)}
      </WhenLoaded>
    </>
  );
}

const isQuiet = ({ events, lists, refusals }: Minute): boolean => sumOf(events) + sumOf(lists) + sumOf(refusals) === 0;

function Nothing() {
  return (
    <div class="card">
      <p>
        <strong>Nothing has happened in the last hour.</strong> Lists, refused calls and events appear here within
        seconds.
      </p>
      <p>
        <a href="#/">Choose a model</a> and try it, or send events: <a href="/v0/docs#postEvents">POST /v0/events</a>.
      </p>
    </div>
  );
}

function Hour({ hour }: { hour: Live }) {
  const { minutes, sources } = hour;
  const times = useMemo(() => minutes.map(({ at }) => at), [hour]);
  const lines = useMemo(
    () => ({
      events: linesOf(minutes, "events"),
      lists: linesOf(minutes, "lists"),
      refusals: linesOf(minutes, "refusals"),
      latency: latencyLines(hour),
    }),
    [hour],
  );
  const isCut = hour.events_from > times[0]!;
  return (
    <>
      <div class="panels">
        <Panel title="Events per minute, by type" source={sources.events} times={times} lines={lines.events}>
          {isCut && `There were too many to count all: those before ${clock(hour.events_from)} are missing.`}
        </Panel>
        <Panel title="Lists per minute, by strategy" source={sources.lists} times={times} lines={lines.lists} />
        <Panel
          title="Latency of lists, in milliseconds"
          source={sources.latency_ms}
          times={times}
          lines={lines.latency}
        />
        <Panel
          title="Refused calls per minute, by code"
          source={sources.refusals}
          times={times}
          lines={lines.refusals}
        />
      </div>
      <NewestEvents events={hour.newest_events} />
      <details class="block">
        <summary>The numbers of each minute</summary>
        <Numbers minutes={minutes} />
      </details>
    </>
  );
}

type PanelProps = {
  readonly title: string;
  readonly source: string;
  readonly times: readonly string[];
  readonly lines: readonly MinutesLine[];
  readonly children?: string | false;
};

function Panel({ title, source, times, lines, children }: PanelProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {lines.length > 0 ? <MinutesPlot times={times} lines={lines} /> : <p class="none">None in the last hour.</p>}
      {children && <p class="warning">{children}</p>}
      <p class="quiet">{source}</p>
    </section>
  );
}

function NewestEvents({ events }: { events: Live["newest_events"] }) {
  return (
    <section class="block">
      <h2>Newest events</h2>
      {events.length === 0 ? (
        <p>None in the last hour.</p>
      ) : (
        <Table label="Newest events" head={["Arrived", "Type", "User", "Item", "Value"]}>
          {events.map((event) => (
            <tr key={`${event.user_id} ${event.event_id}`}>
              <td>{ago(event.arrived_at)}</td>
              <td>{event.type}</td>
              <td>{event.user_id}</td>
              <td>{event.item_id}</td>
              <td>{event.value ?? "–"}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** Minutes in which something happened, the newest first. */
function Numbers({ minutes }: { minutes: readonly Minute[] }) {
  const busy = minutes.filter((minute) => !isQuiet(minute)).reverse();
  return (
    <Table label="Minutes" head={["Minute", "Events", "Lists", "Refused", "p50", "p95", "p99"]}>
      {busy.map(({ at, events, lists, refusals, latency_ms }) => (
        <tr key={at}>
          <th scope="row">{clock(at)}</th>
          <td>{shown(events)}</td>
          <td>{shown(lists)}</td>
          <td>{shown(refusals)}</td>
          {(["p50", "p95", "p99"] as const).map((name) => (
            <td key={name}>{latency_ms ? `${latency_ms[name]} ms` : "–"}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

/** A line for each of the most frequent names, and one for all others together. */
function linesOf(minutes: readonly Minute[], part: Counted): MinutesLine[] {
  const totals: Counts = {};
  for (const minute of minutes)
    for (const [name, value] of Object.entries(minute[part]))
      totals[name] = (Object.hasOwn(totals, name) ? totals[name]! : 0) + value;
  const names = Object.keys(totals).sort((a, b) => totals[b]! - totals[a]!);
  const [own, others] =
    names.length > LINES_MAX ? [names.slice(0, LINES_MAX - 1), names.slice(LINES_MAX - 1)] : [names, []];
  const lineOf = (name: string, of: readonly string[]) => ({
    name,
    total: count(of.reduce((sum, one) => sum + totals[one]!, 0)),
    values: minutes.map((minute) => of.reduce((sum, one) => sum + countOf(minute[part], one), 0)),
  });
  return [...own.map((name) => lineOf(nameOf(name), [name])), ...(others.length > 0 ? [lineOf("others", others)] : [])];
}

function latencyLines({ minutes, latency_ms: hour }: Live): MinutesLine[] {
  if (hour === null) return [];
  return (["p50", "p95", "p99"] as const).map((name) => ({
    name,
    total: `${hour[name]} ms`,
    values: minutes.map(({ latency_ms }) => latency_ms?.[name] ?? null),
  }));
}

const countOf = (counts: Counts, name: string): number => (Object.hasOwn(counts, name) ? counts[name]! : 0);
const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, one) => sum + one, 0);
/** The API counts the types beyond the fiftieth as "*". */
const nameOf = (name: string): string => (name === "*" ? "further types" : name.replaceAll("_", " "));
const shown = (counts: Counts): string =>
  Object.entries(counts)
    .map(([name, value]) => `${nameOf(name)} ${count(value)}`)
    .join(", ") || "–";
