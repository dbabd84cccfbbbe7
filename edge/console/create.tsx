import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { CreateColumns } from "./create-columns.tsx";
import { CreateSource } from "./create-source.tsx";
import { type CreateForm, EMPTY_CREATION, guessesFor, specOf } from "./create-spec.ts";
import { DryRunAnswer } from "./dry-run.tsx";
import { useAction, useLoaded } from "./loaded.ts";
import { client, goTo, modelPath } from "./session.ts";
import { Choice, Code, Problem, TextField } from "./widgets.tsx";

/** Waits for the end of typing before the source is read. */
const PAUSE_MS = 600;
const SCHEDULES = [
  ["@once", "once, and when you say so"],
  ["@hourly", "hourly"],
  ["@daily", "daily"],
  ["@weekly", "weekly"],
] as const;

/** Source, columns, name: each change is checked against the source at once. */
export function CreatePage() {
  const form = useSignal<CreateForm>(EMPTY_CREATION);
  const change = (part: Partial<CreateForm>) => {
    form.value = { ...form.value, ...part };
  };
  const { type, name, location, project } = form.value;
  const spec = specOf(form.value);
  const isReadable =
    type === "Events" ? form.value.events !== "" : location !== "" && (type !== "BigQuery" || project !== "");
  const draft = isReadable ? JSON.stringify(specOf({ ...form.value, name: "" })) : "";
  const dryRun = useDryRun(draft);
  const found = dryRun.value?.queries.find(({ pointer }) => pointer === "/schema/interaction/source");
  const names = found?.columns.map((column) => column.name) ?? [];
  useEffect(() => {
    if (found) change(guessesFor(form.value, names, found.sample));
  }, [found]);
  const create = useAction(() => client.value.createModel(spec));
  const curl = `curl -X POST "${globalThis.location.origin}/v0/models" -H "x-api-key: $KEY" -H "content-type: application/json" -d @model.json`;
  return (
    <>
      <p class="path">
        <a href="#/">Models</a>
      </p>
      <h1>Create a model</h1>
      <div class="columns wide">
        <form
          class="card controls"
          aria-label="Model"
          onSubmit={async (event) => {
            event.preventDefault();
            if (await create.run()) goTo(modelPath(name));
          }}
        >
          <CreateSource form={form.value} onChange={change} />
          {type !== "Events" && <CreateColumns form={form.value} names={names} onChange={change} />}
          <NameAndSchedule form={form.value} onChange={change} />
          <Problem error={create.error} />
          <button type="submit" class="primary" disabled={!name || !dryRun.value?.ok || create.isRunning}>
            Create and train
          </button>
        </form>
        <section aria-labelledby="check-title">
          <h2 id="check-title">What the source has</h2>
          <DryRunAnswer dryRun={dryRun} isReadable={isReadable} />
          <details class="block">
            <summary>The same as JSON and curl</summary>
            <Code label="model.json" text={JSON.stringify(spec, null, 2)} />
            <Code label="curl" text={curl} />
          </details>
        </section>
      </div>
    </>
  );
}

function NameAndSchedule({ form, onChange }: { form: CreateForm; onChange: (part: Partial<CreateForm>) => void }) {
  return (
    <fieldset>
      <legend>3. Name</legend>
      <TextField
        label="Name of the model"
        value={form.name}
        placeholder="shop"
        required
        onInput={(name) => onChange({ name })}
      />
      <Choice label="Train" value={form.schedule} options={SCHEDULES} onChange={(schedule) => onChange({ schedule })} />
    </fieldset>
  );
}

/** Checks a draft, given as JSON; empty if there is nothing to check yet. */
function useDryRun(draft: string) {
  return useLoaded(
    async (signal) => {
      if (draft === "") return undefined;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      signal.throwIfAborted();
      return client.value.dryRun(JSON.parse(draft), { signal });
    },
    [draft],
  );
}
