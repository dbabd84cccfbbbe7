import { useSignal } from "@preact/signals";
import type { ExperimentReport, ModelRecord, ShortlistError } from "../client/shortlist.ts";
import { NewExperiment } from "./experiment-form.tsx";
import { ExperimentPlot, LiftText } from "./experiment-plot.tsx";
import { type Arm, conclusionOf, contentOf, mayBeKept, suggestedArm, timeLeftOf } from "./experiment-spec.ts";
import { ago, count, percent } from "./figures.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { actionCurl, apiPath } from "./request-code.ts";
import { client } from "./session.ts";
import { Choice, Confirm, Problem, Table, WhenLoaded } from "./widgets.tsx";

const AGAIN_MS = 10_000;

type Props = { readonly model: ModelRecord; readonly onChange: () => void };

/** The running experiment of a model, or the form of a new one. */
export function ExperimentPage({ model, onChange }: Props) {
  const name = model.model_name;
  const experiment = useLoaded(
    (signal) =>
      client.value.viewExperiment(name, { signal }).catch((error: ShortlistError) => {
        if (error.code === "experiment_not_found") return null;
        throw error;
      }),
    [name],
    (report) => (report ? AGAIN_MS : undefined),
  );
  const changed = () => {
    onChange();
    experiment.reload();
  };
  return (
    <WhenLoaded from={experiment}>
      {(report) =>
        report === null ? (
          <NewExperiment model={model} onBegun={changed} />
        ) : (
          <Running model={name} report={report} onEnded={changed} />
        )
      }
    </WhenLoaded>
  );
}

type RunningProps = { readonly model: string; readonly report: ExperimentReport; readonly onEnded: () => void };

function Running({ model, report, onEnded }: RunningProps) {
  const { name, started_at, goal, guard, arms, verdict, sample_ratio_mismatch: isMismatch } = report;
  const isEnding = useSignal(false);
  const keep = useSignal("");
  const end = useAction(() => client.value.endExperiment(model, keep.value ? { keep: keep.value } : {}));
  const path = `${location.origin}${apiPath(model)}/experiment`;
  const ask = () => {
    keep.value = suggestedArm(report);
    isEnding.value = true;
  };
  return (
    <section>
      <div class="title">
        <h2>{name}</h2>
        <button type="button" class="danger" disabled={end.isRunning} onClick={ask}>
          End the experiment
        </button>
      </div>
      <Problem error={end.error} />
      <p class={isMismatch ? "problem" : "card"} role="status">
        <strong>{conclusionOf(report)}</strong>
      </p>
      <dl class="facts">
        <Fact title="Began" text={ago(started_at)} />
        <Fact title="Goal" text={goalText(goal)} />
        {guard && <Fact title="Must not get worse" text={goalText(guard)} />}
        <Fact title="Users" text={count(arms.reduce((sum, { exposed }) => sum + exposed, 0))} />
        <Fact title="Sample ratio" text={isMismatch ? "not as the shares say" : "as the shares say"} />
        {verdict === "running" && <Fact title="To detect 5 %" text={timeLeftOf(report)} />}
      </dl>
      <Arms report={report} />
      <ExperimentPlot report={report} />
      {isEnding.value && (
        <Confirm
          title={`End ${name}?`}
          action="End it"
          curl={actionCurl("DELETE", path, keep.value ? { keep: keep.value } : undefined)}
          onAnswer={async (isConfirmed) => {
            isEnding.value = false;
            if (isConfirmed && (await end.run())) onEnded();
          }}
        >
          <Choice
            label="From then on, all users get"
            value={keep.value}
            options={[
              ["", "what they got before"],
              ...arms.filter(mayBeKept).map((arm) => [arm.name, `${arm.name}: ${contentOf(arm)}`] as const),
            ]}
            onChange={(chosen) => {
              keep.value = chosen;
            }}
          />
          <p class="quiet">
            The version of an arm that is kept goes live, and its scenario becomes that of calls that name none. The
            counts of the experiment are not shown any more.
          </p>
        </Confirm>
      )}
    </section>
  );
}

const Fact = ({ title, text }: { title: string; text: string }) => (
  <div>
    <dt>{title}</dt>
    <dd>{text}</dd>
  </div>
);

const goalText = ({ type, within_hours }: ExperimentReport["goal"]) =>
  `${type} within ${within_hours} h of the first list`;

function Arms({ report: { arms, guard } }: { report: ExperimentReport }) {
  const head = ["Arm", "Users get", "Share", "Users", "Reached the goal", "Lift", "Verdict"];
  return (
    <Table label="Arms" head={guard ? [...head, "Guard"] : head}>
      {arms.map((arm) => (
        <tr key={arm.name}>
          <th scope="row">{arm.name}</th>
          <td>{contentOf(arm)}</td>
          <td>{percent(arm.share, 1)}</td>
          <td>{count(arm.exposed)}</td>
          <td>
            {percent(arm.rate, 1)} <span class="quiet">{count(arm.reached)}</span>
          </td>
          <td>{arm.lift ? <LiftText lift={arm.lift} /> : "–"}</td>
          <td>
            <ArmVerdict arm={arm} />
          </td>
          {guard && (
            <td>
              {percent(arm.guard_rate ?? 0, 1)} {arm.guard_lift && <LiftText lift={arm.guard_lift} />}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

const VERDICTS = { running: "none yet", better: "better", worse: "worse", no_difference: "no difference" };

function ArmVerdict({ arm: { verdict } }: { arm: Arm }) {
  if (verdict === undefined) return <span class="quiet">the others are compared with it</span>;
  const colour = { running: "", better: " published", worse: " refused", no_difference: "" }[verdict];
  return <span class={`badge${colour}`}>{VERDICTS[verdict]}</span>;
}
