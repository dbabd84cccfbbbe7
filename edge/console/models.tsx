import { useSignal } from "@preact/signals";
import type { ModelRecord } from "../client/shortlist.ts";
import { ago, metric, qualityOf, seconds, times } from "./figures.ts";
import { useLoaded } from "./loaded.ts";
import { client, modelPath, page } from "./session.ts";
import { Table, TextField, WhenLoaded } from "./widgets.tsx";

export const BUSY_MS = 1500;
const IDLE_MS = 15_000;
const PAGE_MODELS = 50;
const NAME_MAX = 63;

/** All models with their state. It is up to date without a reload. */
export function ModelsPage() {
  const cursor = page.value.query.get("after") ?? "";
  const name = page.value.query.get("name") ?? "";
  const models = useLoaded(
    (signal) =>
      client.value.listModels(
        { limit: PAGE_MODELS, ...(cursor && { cursor }), ...(name && { name_contains: name }) },
        { signal },
      ),
    [cursor, name, client.value],
    (list) => (list?.models.some(isTraining) ? BUSY_MS : IDLE_MS),
  );
  const isLong = useSignal(false); // stays: the field is not to vanish while one types
  if (cursor || name || models.value?.next_cursor) isLong.value = true;
  return (
    <>
      <div class="title">
        <h1>Models</h1>
        <a class="button primary" href="#/create">
          Create a model
        </a>
      </div>
      {isLong.value && (
        <search class="narrow-field">
          <TextField
            label="Find by a part of the name"
            value={name}
            onInput={(text) => location.replace(pageOf({ name: text.slice(0, NAME_MAX) }))}
          />
        </search>
      )}
      <WhenLoaded from={models}>
        {(list) => (
          <>
            {list.models.length > 0 ? (
              <ModelTable models={list.models} />
            ) : name ? (
              <p class="card">No model has “{name}” in its name.</p>
            ) : (
              <NoModels />
            )}
            <nav class="buttons" aria-label="Pages">
              {cursor && <a href={pageOf({ name })}>First page</a>}
              {list.next_cursor && <a href={pageOf({ name, after: list.next_cursor })}>Next page</a>}
            </nav>
          </>
        )}
      </WhenLoaded>
    </>
  );
}

function pageOf({ name, after = "" }: { name: string; after?: string }): string {
  const query = new URLSearchParams({ ...(name && { name }), ...(after && { after }) });
  return query.size > 0 ? `#/?${query}` : "#/";
}

export const isTraining = ({ training }: ModelRecord): boolean => !["IDLE", "FAILED"].includes(training.state);

function NoModels() {
  return (
    <div class="card">
      <p>
        <strong>There are no models yet.</strong> A model learns from what your users did, and ranks items for each of
        them.
      </p>
      <p>
        <a href="#/create">Create the first one</a> from files, Postgres, BigQuery or events.
      </p>
    </div>
  );
}

function ModelTable({ models }: { models: readonly ModelRecord[] }) {
  return (
    <Table label="Models" head={["Model", "State", "Last training", "Quality", "Lists"]}>
      {models.map((model) => (
        <tr key={model.model_name}>
          <th scope="row">
            <a href={`#${modelPath(model.model_name)}`}>{model.model_name}</a>
          </th>
          <td>
            <State model={model} />
          </td>
          <td>{ago(model.trained_at)}</td>
          <td>
            <Quality model={model} />
          </td>
          <td>{model.version && <a href={`#${modelPath(model.model_name, "try")}`}>Try {model.model_name}</a>}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Status and, while a run is under way, its progress. */
export function State({ model }: { model: ModelRecord }) {
  const { training, failure } = model;
  const { progress } = training;
  const name = model.status.toLowerCase();
  return (
    <>
      <span class={`badge ${name}`}>{name}</span>
      {isTraining(model) && (
        <div class="progress">
          <progress
            aria-label={`Training of ${model.model_name}`}
            {...(progress?.share != null && { value: progress.share })}
          />
          <span class="quiet">
            {progress?.stage ?? training.state.toLowerCase()}
            {progress?.detail && `: ${progress.detail}`}
            {progress?.remaining_seconds != null &&
              progress.remaining_seconds >= 1 &&
              `, about ${seconds(progress.remaining_seconds)} left`}
          </span>
        </div>
      )}
      {failure && <span class="quiet"> last training: {failure.code}</span>}
    </>
  );
}

function Quality({ model }: { model: ModelRecord }) {
  const quality = qualityOf(model);
  if (quality === null) return <>–</>;
  const { name, chosen, popularity, method } = quality;
  return (
    <>
      {name} {metric(chosen)}{" "}
      <span class="quiet">
        {popularity > 0 && `${times(chosen / popularity)} popularity, `}
        {method}
      </span>
    </>
  );
}
