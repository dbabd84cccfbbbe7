import { useAction } from "./loaded.ts";
import { client } from "./session.ts";
import { type TryForm, withScenario } from "./try-request.ts";
import { Choice, Problem } from "./widgets.tsx";

type Props = {
  readonly model: string;
  readonly names: readonly string[];
  readonly form: TryForm;
  readonly onChange: (part: Partial<TryForm>) => void;
  readonly onDelete: (name: string) => void;
};

/** The scenario that the call names. Its settings can be taken into the form, changed there and saved again. */
export function ChooseScenario({ model, names, form, onChange, onDelete }: Props) {
  const { scenario } = form;
  const edit = useAction(async () => onChange(withScenario(form, await client.value.viewScenario(model, scenario))));
  return (
    <>
      <Choice
        label="Scenario"
        value={scenario}
        options={[["", "none"], ...names.map((name) => [name, name] as const)]}
        onChange={(chosen) => onChange({ scenario: chosen, ...(chosen && { limit: null }) })}
      />
      {scenario && (
        <div class="buttons">
          <button type="button" disabled={edit.isRunning} onClick={() => void edit.run()}>
            Edit its settings
          </button>
          <button type="button" class="danger" onClick={() => onDelete(scenario)}>
            Delete it
          </button>
        </div>
      )}
      <Problem error={edit.error} />
    </>
  );
}
