import { useSignal } from "@preact/signals";
import type { ExperimentReport, ModelRecord, ShortlistError } from "../client/shortlist.ts";
import { CanaryPart, EarningsPart } from "./canary.tsx";
import { NewExperiment } from "./experiment-form.tsx";
import { ReportView } from "./experiment-report.tsx";
import { contentOf, mayBeKept, suggestedArm } from "./experiment-spec.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { actionCurl, apiPath } from "./request-code.ts";
import { client } from "./session.ts";
import { Choice, Confirm, Problem, WhenLoaded } from "./widgets.tsx";

const AGAIN_MS = 10_000;

type Props = { readonly model: ModelRecord; readonly onChange: () => void };

/** The running experiment of a model, or the form of a new one; below it what the canary and the holdout have shown. */
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
    <>
      <WhenLoaded from={experiment}>
        {(report) =>
          report === null ? (
            <NewExperiment model={model} onBegun={changed} />
          ) : (
            <Running model={name} report={report} onEnded={changed} />
          )
        }
      </WhenLoaded>
      <CanaryPart canary={model.last_canary} />
      <EarningsPart earnings={model.earnings} goal={model.holdout?.goal.type} />
    </>
  );
}

type RunningProps = { readonly model: string; readonly report: ExperimentReport; readonly onEnded: () => void };

function Running({ model, report, onEnded }: RunningProps) {
  const { name, arms } = report;
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
      <ReportView report={report} />
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
