import { useSignal } from "@preact/signals";
import type { Batch, BatchRecord, ModelRecord } from "../client/shortlist.ts";
import { count, percent } from "./figures.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { actionCurl, apiPath } from "./request-code.ts";
import { client, goTo, modelPath, page } from "./session.ts";
import { idsIn } from "./try-request.ts";
import { AsCurl, Choice, Problem, TextField, WhenLoaded } from "./widgets.tsx";

type Format = NonNullable<Batch["format"]>;
type Form = {
  readonly users: string;
  readonly items: string;
  readonly limit: string;
  readonly scenario: string;
  readonly format: Format;
};

const EMPTY: Form = { users: "", items: "", limit: "20", scenario: "", format: "csv" };
const RUNNING_MS = 1000;

/** The lists of many users as files, such as for tonight's e-mails; or the users who would want some items most. */
export function ExportPage({ model }: { model: ModelRecord }) {
  const { model_name: name } = model;
  const batchId = page.value.query.get("batch");
  return (
    <div class="columns">
      <NewExport name={name} />
      <section aria-labelledby="export-title">
        <h2 id="export-title">Files</h2>
        {batchId ? (
          <Export key={batchId} name={name} batchId={batchId} />
        ) : (
          <p class="quiet">
            Lists are those that the edge would answer now, without experiments. Their files appear here.
          </p>
        )}
      </section>
    </div>
  );
}

function NewExport({ name }: { name: string }) {
  const filled = useSignal(EMPTY);
  const scenarios = useLoaded((signal) => client.value.listScenarios(name, { signal }), [name]);
  const begin = useAction(async () => {
    const { batch_id } = await client.value.createBatch(name, batchOf(filled.value));
    goTo(`${modelPath(name, "export")}?batch=${encodeURIComponent(batch_id)}`);
  });
  const form = filled.value;
  const change = (part: Partial<Form>) => {
    filled.value = { ...filled.value, ...part };
  };
  const known = scenarios.value?.scenarios.map((scenario) => [scenario.name, scenario.name] as const) ?? [];
  return (
    <form
      class="controls card"
      onSubmit={(event) => {
        event.preventDefault();
        void begin.run();
      }}
    >
      <h2>Export lists</h2>
      <TextField
        label="Users"
        value={form.users}
        placeholder="all"
        hint="Ids with commas between them. Empty: all users."
        onInput={(users) => change({ users })}
      />
      <TextField
        label="For items"
        value={form.items}
        hint="Instead of lists: the users who would want these items most."
        onInput={(items) => change({ items })}
      />
      <TextField
        label="Entries of a list"
        type="number"
        value={form.limit}
        required
        onInput={(limit) => change({ limit })}
      />
      <Choice
        label="Scenario"
        value={form.scenario}
        options={[["", "none"], ...known]}
        onChange={(scenario) => change({ scenario })}
      />
      <Choice
        label="Format"
        value={form.format}
        options={[
          ["csv", "CSV"],
          ["parquet", "Parquet"],
          ["ndjson", "JSON Lines"],
        ]}
        onChange={(format) => change({ format: format as Format })}
      />
      <button type="submit" disabled={begin.isRunning}>
        Export
      </button>
      <Problem error={begin.error} />
      <AsCurl text={actionCurl("POST", `${location.origin}${apiPath(name)}/batches`, batchOf(form))} />
    </form>
  );
}

function batchOf({ users, items, limit, scenario, format }: Form): Batch {
  const [userIds, itemIds] = [idsIn(users, false), idsIn(items, false)];
  return {
    ...(userIds.length > 0 && { users: userIds }),
    ...(itemIds.length > 0 ? { items: itemIds, users_per_item: Number(limit) } : { limit: Number(limit) }),
    ...(scenario && { scenario }),
    format,
  };
}

function Export({ name, batchId }: { name: string; batchId: string }) {
  const batch = useLoaded(
    (signal) => client.value.viewBatch(name, batchId, { signal }),
    [name, batchId],
    (record) => (record && record.state !== "running" ? undefined : RUNNING_MS),
  );
  const stop = useAction(() => client.value.stopBatch(name, batchId));
  return (
    <WhenLoaded from={batch}>
      {(record) => (
        <>
          <p role="status">{stateOf(record)}</p>
          {record.failure && <p class="problem">{record.failure.message}</p>}
          {record.state === "running" && (
            <button
              type="button"
              class="danger"
              disabled={stop.isRunning}
              onClick={async () => (await stop.run()) && batch.reload()}
            >
              Stop it
            </button>
          )}
          <Problem error={stop.error} />
          <ul>
            {record.files.map(({ url, bytes }) => (
              <li key={url}>
                <a href={url} download>
                  {fileName(url)}
                </a>{" "}
                <span class="quiet">{count(bytes)} bytes</span>
              </li>
            ))}
          </ul>
          {record.files.length > 0 && <p class="quiet">The links are valid for a day after the export.</p>}
        </>
      )}
    </WhenLoaded>
  );
}

function stateOf({ state, progress, rows, users }: BatchRecord): string {
  if (state === "running")
    return progress ? `${percent(progress.fraction, 0)}: ${progress.detail}` : "Waiting for its turn.";
  if (state === "done") return `Done: ${count(rows ?? 0)} rows for ${count(users ?? 0)} users.`;
  return state === "failed" ? "It has failed." : "It was stopped.";
}

const fileName = (url: string) => new URL(url, location.origin).pathname.split("/").at(-1)!;
