import type { Columns, CreateForm } from "./create-spec.ts";
import { Choice, TextField } from "./widgets.tsx";

type Props = {
  readonly form: CreateForm;
  /** The columns of the interactions; empty until the source was read. */
  readonly names: readonly string[];
  readonly onChange: (part: Partial<CreateForm>) => void;
};

const ROLES = [
  ["user", "User id", undefined],
  ["item", "Item id", undefined],
  ["time", "Time", "none: all at the same time"],
  ["label", "Label", "none: every row was wanted"],
] as const;
const RATING_EXAMPLE = 4;

/** What the columns mean. The guess is preselected. */
export function CreateColumns({ form, names, onChange }: Props) {
  const { columns, positiveFrom, positiveTypes, session, repeats } = form;
  const set = (part: Partial<Columns>) => onChange({ columns: { ...columns, ...part } });
  return (
    <fieldset>
      <legend>2. Columns</legend>
      {ROLES.map(([role, label, none]) => (
        <Choice
          key={role}
          label={label}
          value={columns[role] ?? ""}
          options={optionsOf(names, columns[role], none)}
          onChange={(name) => set({ [role]: name || null })}
        />
      ))}
      {columns.label !== null && (
        <Choice
          label="The label is"
          value={positiveTypes !== null ? "Events" : positiveFrom === null ? "Binary" : "Rating"}
          options={[
            ["Binary", "yes or no"],
            ["Rating", "a rating"],
            ["Events", "a type of event"],
          ]}
          onChange={(kind) =>
            onChange({
              positiveFrom: kind === "Rating" ? RATING_EXAMPLE : null,
              positiveTypes: kind === "Events" ? "" : null,
            })
          }
        />
      )}
      {columns.label !== null && positiveFrom !== null && (
        <TextField
          label="Wanted from this rating on"
          type="number"
          value={String(positiveFrom)}
          onInput={(text) => onChange({ positiveFrom: Number(text) })}
        />
      )}
      {columns.label !== null && positiveTypes !== null && (
        <TextField
          label="Types that were wanted, the strongest first"
          value={positiveTypes}
          onInput={(text) => onChange({ positiveTypes: text })}
        />
      )}
      <Choice
        label="Session"
        value={session}
        options={optionsOf(names, session || null, "none: learn from all that a user chose")}
        onChange={(name) => onChange({ session: name })}
      />
      {session !== "" && (
        <Choice
          label="In a session, an item"
          value={repeats ? "again" : "once"}
          options={[
            ["once", "comes once"],
            ["again", "may come again"],
          ]}
          onChange={(value) => onChange({ repeats: value === "again" })}
        />
      )}
    </fieldset>
  );
}

/** All columns, with the chosen one even if the source does not have it. */
function optionsOf(names: readonly string[], chosen: string | null, none: string | undefined) {
  const all = [...new Set([...(chosen === null ? [] : [chosen]), ...names])].filter((name) => name !== "");
  return [...(none === undefined ? [] : [["", none] as const]), ...all.map((name) => [name, name] as const)];
}
