import type { ModelRecord, RunList } from "../client/shortlist.ts";
import { FailureText } from "./failure.tsx";
import { ago, count, metric, seconds } from "./figures.ts";
import { useLoaded } from "./loaded.ts";
import { isTraining } from "./models.tsx";
import { RefusedReport } from "./refused-report.tsx";
import { actionCurl, apiPath } from "./request-code.ts";
import { client } from "./session.ts";
import { Code, WhenLoaded } from "./widgets.tsx";

type Run = RunList["runs"][number];

/** The last trainings: their stages, what they read, and why one failed or made no version. */
export function RunsPage({ model }: { model: ModelRecord }) {
  const runs = useLoaded(
    (signal) => client.value.listRuns(model.model_name, { signal }),
    [model.model_name, model.training.finished_at],
  );
  return (
    <section>
      <h2>Runs</h2>
      <details>
        <summary>Train now, as curl</summary>
        <Code label="curl" text={actionCurl("POST", `${location.origin}${apiPath(model.model_name)}/train`)} />
      </details>
      <WhenLoaded from={runs}>
        {({ runs }) =>
          runs.length === 0 ? (
            <p class="card">
              {isTraining(model) ? "A training is under way, and none has ended yet." : "No training has ended yet."}
            </p>
          ) : (
            <>
              <p class="quiet">
                The last trainings that ended, the newest first. Those of refused versions are kept for longer.
              </p>
              <ol class="runs">
                {runs.map((run) => (
                  <RunEntry key={run.run_id} run={run} live={model.version} />
                ))}
              </ol>
            </>
          )
        }
      </WhenLoaded>
    </section>
  );
}

function RunEntry({ run, live }: { run: Run; live: string | null }) {
  const { outcome, stages, version, failure, report } = run;
  const facts = factsOf(run);
  const took = stages.reduce((sum, stage) => sum + stage.seconds, 0);
  return (
    <li class="card">
      <h3>
        <span class={`badge ${outcome}`}>{outcome.replaceAll("_", " ")}</span>{" "}
        <time dateTime={run.ended_at} title={run.ended_at}>
          {ago(run.ended_at)}
        </time>
        {version !== null && version === live && <span class="badge active">live</span>}
      </h3>
      <Stages stages={stages} took={took} />
      {facts && <p class="quiet">{facts}</p>}
      {failure && <FailureText failure={failure} />}
      {report && <RefusedReport report={report} />}
    </li>
  );
}

/** What it read and made. */
const factsOf = ({ read, quality, version, attempt }: Run): string =>
  [
    read && `${count(read.interactions)} interactions read, ${count(read.rejected_rows)} rows rejected`,
    quality &&
      `${quality.metric.toUpperCase()} ${metric(quality.chosen.value)}, popularity ${metric(quality.popularity.value)}`,
    version && `version ${version}`,
    attempt > 1 && `attempt ${attempt}`,
  ]
    .filter(Boolean)
    .join(" · ");

/** How long each stage took: as a bar for a glance, and as text. */
function Stages({ stages, took }: { stages: Run["stages"]; took: number }) {
  if (stages.length === 0) return <p>It ended before its first stage.</p>;
  return (
    <>
      <div class="stages" aria-hidden="true">
        {stages.map(({ stage, seconds }) => (
          <span key={stage} class={stage.toLowerCase()} style={{ flexGrow: seconds / (took || 1) }} />
        ))}
      </div>
      <p>
        {stages.map(({ stage, seconds: length }) => `${stage.toLowerCase()} ${seconds(length)}`).join(" · ")}
        {stages.length > 1 && <span class="quiet"> · {seconds(took)} in all</span>}
      </p>
    </>
  );
}
