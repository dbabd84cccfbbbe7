import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ModelSpec } from "../client/shortlist.ts";
import { CreateColumns } from "./create-columns.tsx";
import { CreateSource } from "./create-source.tsx";
import { type CreateForm, guessesFor } from "./create-spec.ts";
import { CreateTraining } from "./create-training.tsx";
import { DryRunAnswer } from "./dry-run.tsx";
import { useAction, useLoaded } from "./loaded.ts";
import { client } from "./session.ts";
import { Code, Problem } from "./widgets.tsx";

/** The source is read this long after the last key press. */
const PAUSE_MS = 600;

export type Request = { readonly method: "POST" | "PATCH"; readonly path: string; readonly body: object };

type Props = {
  readonly initial: CreateForm;
  /** The whole specification of the model, which is checked while the user types. */
  readonly specOf: (form: CreateForm) => ModelSpec;
  /** What the button sends, which is also shown. */
  readonly requestOf: (form: CreateForm) => Request;
  readonly send: (form: CreateForm) => Promise<unknown>;
  readonly onDone: (form: CreateForm) => void;
  readonly action: string;
  readonly isComplete: (form: CreateForm) => boolean;
  /** The first fields of the last part. */
  readonly children?: (form: CreateForm, onChange: (part: Partial<CreateForm>) => void) => ComponentChildren;
};

/** Source, columns and training of a model. Each change is checked against the source while the user types. */
export function ModelForm({ initial, specOf, requestOf, send, onDone, action, isComplete, children }: Props) {
  const form = useSignal<CreateForm>(initial);
  const change = (part: Partial<CreateForm>) => {
    form.value = { ...form.value, ...part };
  };
  const { type, location, project, events } = form.value;
  const isReadable = type === "Events" ? events !== "" : location !== "" && (type !== "BigQuery" || project !== "");
  const draft = isReadable ? JSON.stringify(specOf({ ...form.value, name: initial.name })) : "";
  const dryRun = useDryRun(draft);
  const found = dryRun.value?.queries.find(({ pointer }) => pointer === "/schema/interaction/source");
  const names = found?.columns.map((column) => column.name) ?? [];
  useEffect(() => {
    if (found) change(guessesFor(form.value, names, found.sample));
  }, [found]);
  const sending = useAction(() => send(form.value));
  const { method, path, body } = requestOf(form.value);
  const curl = `curl -X ${method} "${globalThis.location.origin}${path}" -H "x-api-key: $KEY" -H "content-type: application/json" -d @model.json`;
  return (
    <div class="columns wide">
      <form
        class="card controls"
        aria-label="Model"
        onSubmit={async (event) => {
          event.preventDefault();
          if (await sending.run()) onDone(form.value);
        }}
      >
        <CreateSource form={form.value} onChange={change} />
        {type !== "Events" && <CreateColumns form={form.value} names={names} onChange={change} />}
        <fieldset>
          <legend>{type === "Events" ? "2." : "3."} Training</legend>
          {children?.(form.value, change)}
          <CreateTraining form={form.value} onChange={change} />
        </fieldset>
        <Problem error={sending.error} />
        <button
          type="submit"
          class="primary"
          disabled={!isComplete(form.value) || !dryRun.value?.ok || sending.isRunning}
        >
          {action}
        </button>
      </form>
      <section aria-labelledby="check-title">
        <h2 id="check-title">What the source has</h2>
        <DryRunAnswer dryRun={dryRun} isReadable={isReadable} />
        <details class="block">
          <summary>The same as JSON and curl</summary>
          <Code label="model.json" text={JSON.stringify(body, null, 2)} />
          <Code label="curl" text={curl} />
        </details>
      </section>
    </div>
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
