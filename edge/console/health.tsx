import type { HealthReport } from "../client/shortlist.ts";
import { clock } from "./figures.ts";
import { useLoaded } from "./loaded.ts";
import { client, modelPath } from "./session.ts";
import { WhenLoaded } from "./widgets.tsx";

const AGAIN_MS = 60_000;

type Found = HealthReport["findings"][number];

/** What is wrong or will soon be, with remedies: the findings of `npm run doctor`. */
export function HealthPage() {
  const health = useLoaded(
    (signal) => client.value.viewHealth({ signal }),
    [client.value],
    () => AGAIN_MS,
  );
  return (
    <>
      <div class="title">
        <h1>Health</h1>
        <button type="button" onClick={health.reload} disabled={health.isLoading}>
          Look again
        </button>
      </div>
      <WhenLoaded from={health}>
        {(report) => (
          <>
            <p class="quiet" role="status">
              {summaryOf(report)} Looked at {clock(report.checked_at)}, and every minute while you look at it.
            </p>
            <Findings title="Models, sources and keys" findings={report.findings} />
            {report.operator && <Findings title="The trainer's machine and the bucket" findings={report.operator} />}
          </>
        )}
      </WhenLoaded>
    </>
  );
}

function summaryOf({ findings, operator }: HealthReport): string {
  const all = [...findings, ...(operator ?? [])];
  const count = (state: Found["state"]) => all.filter((found) => found.state === state).length;
  const named = (number: number, name: string) => (number === 0 ? [] : [`${number} ${name}${number === 1 ? "" : "s"}`]);
  const bad = [...named(count("fault"), "fault"), ...named(count("warning"), "warning")];
  return bad.length === 0 ? "Nothing is wrong." : `${bad.join(" and ")}.`;
}

const ORDER = ["fault", "warning", "ok"];
const BADGES = { ok: "active", warning: "attention", fault: "failed" };

/** Faults first. */
function Findings({ title, findings }: { title: string; findings: readonly Found[] }) {
  const sorted = findings.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <ul class="findings">
        {sorted.map((found) => (
          <li key={found.name}>
            <span class={`badge ${BADGES[found.state]}`}>{found.state}</span>
            <div>
              <strong>
                <Name name={found.name} />
              </strong>
              : {found.finding}
              {found.remedy && <p class="quiet">{found.remedy}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The name of what was looked at; a model's leads to the model. */
function Name({ name }: { name: string }) {
  const model = /^model (.+)$/.exec(name)?.[1];
  return model === undefined ? name : <a href={`#${modelPath(model, "runs")}`}>{name}</a>;
}
