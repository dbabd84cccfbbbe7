import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { knownItems, valuesOf } from "./known-items.ts";
import { Choice, Field } from "./widgets.tsx";

const COMPARISONS = [
  ["$eq", "is"],
  ["$ne", "is not"],
  ["$lt", "is below"],
  ["$gte", "is at least"],
] as const;

export type Condition = Readonly<Record<string, unknown>>;

/** A condition on an attribute, without writing JSON. It offers the values that items have. */
export function ConditionForm({ action, onAdd }: { action: string; onAdd: (condition: Condition) => void }) {
  const attribute = useSignal("");
  const comparison = useSignal<string>("$eq");
  const text = useSignal("");
  const listId = useId();
  const names = [...new Set([...knownItems.value.values()].slice(0, 20).flatMap(Object.keys))];
  if (names.length === 0) return null;
  const add = () => {
    const value = typed(attribute.value, text.value);
    onAdd({ [attribute.value]: comparison.value === "$eq" ? value : { [comparison.value]: value } });
    text.value = "";
  };
  return (
    <div class="condition">
      <Choice
        label="Attribute"
        value={attribute.value}
        options={[["", "choose"], ...names.map((name) => [name, name] as const)]}
        onChange={(name) => {
          attribute.value = name;
        }}
      />
      {attribute.value && (
        <>
          <Choice
            label="Comparison"
            value={comparison.value}
            options={COMPARISONS}
            onChange={(operator) => {
              comparison.value = operator;
            }}
          />
          <Field label="Value">
            {(id) => (
              <input
                id={id}
                list={listId}
                value={text.value}
                onInput={(event) => {
                  text.value = event.currentTarget.value;
                }}
              />
            )}
          </Field>
          <datalist id={listId}>
            {valuesOf(attribute.value).map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
          <button type="button" disabled={text.value === ""} onClick={add}>
            {action}
          </button>
        </>
      )}
    </div>
  );
}

/** The text as a value of the attribute's type. */
function typed(attribute: string, text: string): unknown {
  const example = [...knownItems.value.values()].map((item) => item[attribute]).find((value) => value != null);
  if (typeof example === "number") return Number(text);
  return typeof example === "boolean" ? text === "true" : text;
}
