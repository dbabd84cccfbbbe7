import { useSignal } from "@preact/signals";
import type { ScenarioAnswer } from "../client/shortlist.ts";
import { count, metric } from "./figures.ts";
import { useAction } from "./loaded.ts";
import { actionCurl, scenarioPath } from "./request-code.ts";
import { client } from "./session.ts";
import { scenarioOf, type TryForm } from "./try-request.ts";
import { AsCurl, Problem, Table, TextField } from "./widgets.tsx";

type Props = {
  readonly model: string;
  /** The scenarios that there are. */
  readonly names: readonly string[];
  readonly form: TryForm;
  readonly onChange: (part: Partial<TryForm>) => void;
  readonly onSaved: () => void;
};

/** Saves filter, boosts and the other settings under a name, and says what they cost in quality. */
export function SaveScenario({ model, names, form, onChange, onSaved }: Props) {
  const { name } = form;
  const saved = useSignal<string | undefined>(undefined);
  const cost = useSignal<ScenarioAnswer | undefined>(undefined);
  const save = useAction(async () => {
    saved.value = cost.value = undefined;
    await client.value.storeScenario(model, name, scenarioOf(form));
    saved.value = name;
    onSaved();
    cost.value = await client.value.evaluate(model, { scenario: name });
  });
  if (form.scenario)
    return (
      <section class="block">
        <h2>Save it as a scenario</h2>
        <p class="quiet">This call names the scenario {form.scenario}. Edit its settings to save them changed.</p>
      </section>
    );
  return (
    <section class="block">
      <h2>Save it as a scenario</h2>
      <p class="quiet">
        A scenario is a name for these settings. Rank calls then only say the name, and you can change it without a
        deployment.
      </p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void save.run();
        }}
      >
        <TextField
          label="Name of the scenario"
          value={name}
          placeholder="home"
          required
          onInput={(text) => onChange({ name: text })}
        />
        <button type="submit" disabled={save.isRunning}>
          {names.includes(name) ? `Replace ${name}` : "Save"}
        </button>
      </form>
      <AsCurl text={actionCurl("PUT", location.origin + scenarioPath(model, name || "NAME"), scenarioOf(form))} />
      <p role="status">
        {saved.value && `Saved as ${saved.value}. `}
        {save.isRunning && saved.value && "Measuring what it changes…"}
      </p>
      <Problem error={save.error} />
      {cost.value && <Cost answer={cost.value} />}
    </section>
  );
}

function Cost({ answer }: { answer: ScenarioAnswer }) {
  const names = Object.keys(answer.difference);
  const cutOff = Math.max(...names.map((name) => Number(name.split("@")[1])));
  const shown = names.filter((name) => name.endsWith(`@${cutOff}`));
  return (
    <Table label="What the scenario changes" head={["Measure", "Without", "With", "Difference (95 % interval)"]}>
      {shown.map((name) => {
        const { value, low, high } = answer.difference[name]!;
        return (
          <tr key={name}>
            <th scope="row">{name.replaceAll("_", " ")}</th>
            <td>{metric(answer.without[name]?.value)}</td>
            <td>{metric(answer.with[name]?.value)}</td>
            <td>
              {metric(value)} <span class="quiet">{low !== null && `(${metric(low)} to ${metric(high)})`}</span>
            </td>
          </tr>
        );
      })}
      <tr>
        <td colSpan={4} class="quiet">
          {count(answer.lists)} lists of {count(answer.users)} users, measured on held-out choices.
        </td>
      </tr>
    </Table>
  );
}
