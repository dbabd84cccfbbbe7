import { useSignal } from "@preact/signals";
import type { ModelRecord } from "../client/shortlist.ts";
import { ARMS_MAX, type ArmForm, armForm, bodyOf, missingOf, newExperiment } from "./experiment-spec.ts";
import { ago } from "./figures.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { actionCurl, apiPath } from "./request-code.ts";
import { client } from "./session.ts";
import { AsCurl, Choice, Problem, TextField } from "./widgets.tsx";

type Props = { readonly model: ModelRecord; readonly onBegun: () => void };

/** The form of a new experiment. */
export function NewExperiment({ model, onBegun }: Props) {
  const name = model.model_name;
  const filled = useSignal(newExperiment(Object.keys(model.input_schema.interaction.events ?? {})));
  const versions = useLoaded((signal) => client.value.listVersions(name, { signal }), [name, model.version]);
  const scenarios = useLoaded((signal) => client.value.listScenarios(name, { signal }), [name]);
  const begin = useAction(() => client.value.putExperiment(name, bodyOf(filled.value)));
  const form = filled.value;
  const change = (part: Partial<typeof form>) => {
    filled.value = { ...filled.value, ...part };
  };
  const changeArm = (at: number, part: Partial<ArmForm>) =>
    change({ arms: form.arms.map((arm, i) => (i === at ? { ...arm, ...part } : arm)) });
  const missing = missingOf(form);
  return (
    <section>
      <h2>A new experiment</h2>
      <p>
        Some users get one list, others another, and what they do decides. A user always gets the same arm. The first
        arm is what the others are compared with.
      </p>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (missing === undefined && (await begin.run())) onBegun();
        }}
      >
        <div class="row">
          <TextField
            label="Name"
            value={form.name}
            placeholder="new-version"
            required
            onInput={(name) => change({ name })}
          />
          <TextField
            label="Goal: a type of events"
            value={form.goal}
            placeholder="purchase"
            required
            onInput={(goal) => change({ goal })}
          />
          <TextField
            label="Within hours of the first list"
            type="number"
            value={form.hours}
            required
            onInput={(hours) => change({ hours })}
          />
        </div>
        {form.arms.map((arm, at) => (
          <ArmFields
            key={at}
            arm={arm}
            title={at === 0 ? "The first arm" : `Arm ${at + 1}`}
            versions={versions.value?.versions ?? []}
            scenarios={scenarios.value?.scenarios.map((scenario) => scenario.name) ?? []}
            onChange={(part) => changeArm(at, part)}
            {...(form.arms.length > 2 && { onRemove: () => change({ arms: form.arms.filter((_, i) => i !== at) }) })}
          />
        ))}
        <div class="buttons">
          <button
            type="button"
            disabled={form.arms.length >= ARMS_MAX}
            onClick={() => change({ arms: [...form.arms, armForm(`arm-${form.arms.length + 1}`, 0)] })}
          >
            Add an arm
          </button>
        </div>
        <details>
          <summary>What must not get worse</summary>
          <div class="row">
            <TextField
              label="Guard: a type of events"
              value={form.guard}
              placeholder="view"
              hint="Optional. An arm with fewer of these users is worse."
              onInput={(guard) => change({ guard })}
            />
            <TextField
              label="Within hours, for the guard"
              type="number"
              value={form.guardHours}
              onInput={(guardHours) => change({ guardHours })}
            />
          </div>
        </details>
        <Problem error={begin.error ?? versions.error ?? scenarios.error} />
        <p role="status">{missing}</p>
        <div class="buttons">
          <button type="submit" class="primary" disabled={missing !== undefined || begin.isRunning}>
            Begin the experiment
          </button>
        </div>
        <AsCurl text={actionCurl("PUT", `${location.origin}${apiPath(name)}/experiment`, bodyOf(form))} />
      </form>
    </section>
  );
}

type ArmProps = {
  readonly arm: ArmForm;
  readonly title: string;
  readonly versions: readonly { readonly version: string; readonly created_at: string; readonly live: boolean }[];
  readonly scenarios: readonly string[];
  readonly onChange: (part: Partial<ArmForm>) => void;
  readonly onRemove?: () => void;
};

function ArmFields({ arm, title, versions, scenarios, onChange, onRemove }: ArmProps) {
  const ofVersions = versions.map(({ version, created_at, live }) => {
    const place = live ? "live" : ago(created_at);
    return [version, `${version} (${place})`] as const;
  });
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="row">
        <TextField label="Name of the arm" value={arm.name} required onInput={(name) => onChange({ name })} />
        <TextField
          label="Share of the users, in %"
          type="number"
          value={arm.share}
          required
          onInput={(share) => onChange({ share })}
        />
        <Choice
          label="Version"
          value={arm.version}
          options={[["", "the live one, whichever it is"], ...ofVersions]}
          onChange={(version) => onChange({ version })}
        />
        <Choice
          label="Scenario"
          value={arm.scenario}
          options={[["", "as without the experiment"], ...scenarios.map((name) => [name, name] as const)]}
          onChange={(scenario) => onChange({ scenario })}
        />
        <Choice
          label="Items"
          value={arm.isPopular ? "popular" : ""}
          options={[
            ["", "chosen by the model"],
            ["popular", "popular ones for everybody"],
          ]}
          onChange={(chosen) => onChange({ isPopular: chosen !== "" })}
        />
        {onRemove && (
          <button type="button" onClick={onRemove}>
            Remove
          </button>
        )}
      </div>
    </fieldset>
  );
}
