import { computed, useSignal } from "@preact/signals";
import type { ModelRecord } from "../client/shortlist.ts";
import { ChangePage } from "./change.tsx";
import { DataPage } from "./data.tsx";
import { ExperimentPage } from "./experiment.tsx";
import { ExportPage } from "./export-lists.tsx";
import { FailureText } from "./failure.tsx";
import { ago, metric, qualityOf, times } from "./figures.ts";
import { ItemPage } from "./item.tsx";
import { ItemsPage } from "./items.tsx";
import { useAction, useLoaded } from "./loaded.ts";
import { BUSY_MS, isTraining, State } from "./models.tsx";
import { actionCurl, apiPath } from "./request-code.ts";
import { RunsPage } from "./runs.tsx";
import { client, goTo, modelPath, page } from "./session.ts";
import { TryPage } from "./try.tsx";
import { UserEventsPage } from "./user-events.tsx";
import { VersionsPage } from "./versions.tsx";
import { WhyPage } from "./why.tsx";
import { Confirm, Problem, WhenLoaded } from "./widgets.tsx";

const IDLE_MS = 15_000;

const PARTS = [
  ["", "Quality"],
  ["try", "Try it"],
  ["items", "Items"],
  ["versions", "Versions"],
  ["experiment", "Experiment"],
  ["export", "Export lists"],
  ["runs", "Runs"],
  ["data", "Data"],
  ["events", "Events"],
  ["change", "Change"],
] as const;

/** One model: its state, its actions, and one of its parts. */
export function ModelPage({ name, part, item }: { name: string; part: string; item: string | undefined }) {
  const record = useLoaded(
    (signal) => client.value.viewModel(name, { signal }),
    [name, client.value],
    (model) => (model && isTraining(model) ? BUSY_MS : IDLE_MS),
  );
  // Ranking needs no trainer: pages of lists and items do not wait for the record.
  // A model of events alone ranks before its first version.
  const mayRank = record.value?.version !== null || record.value.connectors.every(({ type }) => type === "Events");
  const isOfEdge = ["try", "items"].includes(part) && mayRank && record.error?.code !== "model_not_found";
  return (
    <>
      <p class="path">
        <a href="#/">Models</a>
      </p>
      <div class="title">
        <h1>{name}</h1>
        {record.value && <Actions model={record.value} onChange={record.reload} />}
      </div>
      <nav class="tabs" aria-label={name}>
        {PARTS.map(([path, title]) => (
          <a key={path} href={`#${modelPath(name, path)}`} {...(path === part && { "aria-current": "page" })}>
            {title}
          </a>
        ))}
      </nav>
      {isOfEdge ? (
        <>
          <Problem error={record.error} onRetry={record.reload} />
          {record.value && <Summary model={record.value} />}
          {part === "try" ? (
            <TryPage key={user.value} name={name} model={record.value} />
          ) : item === undefined ? (
            <ItemsPage name={name} idColumn={record.value?.input_schema.item.id} />
          ) : (
            <ItemPage key={item} name={name} id={item} />
          )}
        </>
      ) : (
        <WhenLoaded from={record}>
          {(model) => (
            <>
              <Summary model={model} />
              <Part part={part} model={model} onChange={record.reload} />
            </>
          )}
        </WhenLoaded>
      )}
    </>
  );
}

/** A link to another user's list starts with an empty form. */
const user = computed(() => page.value.query.get("user") ?? "");

function Part({ part, model, onChange }: { part: string; model: ModelRecord; onChange: () => void }) {
  if (part === "data") return <DataPage model={model} />;
  if (part === "runs") return <RunsPage model={model} />;
  if (part === "events") return <UserEventsPage model={model} />;
  if (part === "change") return <ChangePage model={model} onChange={onChange} />;
  if (model.version === null) return isTraining(model) ? <FirstTraining /> : null;
  if (part === "versions") return <VersionsPage model={model} onChange={onChange} />;
  if (part === "experiment") return <ExperimentPage model={model} onChange={onChange} />;
  if (part === "export") return <ExportPage model={model} />;
  return <WhyPage model={model} />;
}

const FirstTraining = () => (
  <p class="card">The first training is under way. Quality and lists appear here as soon as a version is live.</p>
);

function Summary({ model }: { model: ModelRecord }) {
  const quality = qualityOf(model);
  const { failure, training } = model;
  return (
    <>
      <div class="facts">
        <div>
          <State model={model} />
        </div>
        <div>trained {ago(model.trained_at)}</div>
        <div>
          {training.next_run_at ? `next training ${ago(training.next_run_at)}` : `schedule ${model.train_schedule}`}
        </div>
        {quality && (
          <div>
            {quality.name} {metric(quality.chosen)}
            {quality.popularity > 0 && `, ${times(quality.chosen / quality.popularity)} popularity`}
          </div>
        )}
      </div>
      {failure && (
        <div class="problem" role="status">
          <p class="quiet">The last training changed nothing.</p>
          <FailureText failure={failure} />
        </div>
      )}
    </>
  );
}

function Actions({ model, onChange }: { model: ModelRecord; onChange: () => void }) {
  const isDeleting = useSignal(false);
  const isShrunken = model.failure?.code === "source_shrunken";
  const train = useAction(() => client.value.trainModel(model.model_name));
  const ignore = useAction(() => client.value.trainModel(model.model_name, { ignore: ["source_shrunken"] }));
  const remove = useAction(() => client.value.deleteModel(model.model_name));
  return (
    <div class="buttons">
      <button
        type="button"
        disabled={isTraining(model) || train.isRunning}
        onClick={async () => (await train.run()) && onChange()}
      >
        Train now
      </button>
      {isShrunken && (
        <button
          type="button"
          disabled={isTraining(model) || ignore.isRunning}
          onClick={async () => (await ignore.run()) && onChange()}
        >
          Train, and accept the smaller source
        </button>
      )}
      <button
        type="button"
        class="danger"
        onClick={() => {
          isDeleting.value = true;
        }}
      >
        Delete
      </button>
      <Problem error={train.error ?? ignore.error ?? remove.error} />
      {isDeleting.value && (
        <Confirm
          title={`Delete ${model.model_name}?`}
          action="Delete the model"
          typed={model.model_name}
          curl={actionCurl("DELETE", location.origin + apiPath(model.model_name))}
          onAnswer={async (isConfirmed) => {
            isDeleting.value = false;
            if (isConfirmed && (await remove.run())) goTo("/");
          }}
        >
          <p>Its versions, scenarios and records are deleted for good. Rank calls then fail.</p>
        </Confirm>
      )}
    </div>
  );
}
