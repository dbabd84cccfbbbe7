import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { COMPARISONS, type Condition, isPlace, nearIn, nearText, PLACE_COMPARISONS } from "./filter-conditions.ts";
import { attributeNames, exampleOf, typedLike, valuesOf } from "./known-items.ts";
import { Choice, Field } from "./widgets.tsx";

/** A condition on an attribute, without writing JSON. It offers the values that items have. */
export function ConditionForm({ action, onAdd }: { action: string; onAdd: (condition: Condition) => void }) {
  const attribute = useSignal("");
  const comparison = useSignal<string>("$eq");
  const text = useSignal("");
  const listId = useId();
  const names = attributeNames();
  if (names.length === 0) return null;
  const example = exampleOf(attribute.value);
  const place = isPlace(example);
  const isIncomplete = place ? nearIn(text.value) === undefined : text.value === "";
  const add = () => {
    const value = place ? nearIn(text.value) : typedLike([example].flat()[0], text.value);
    onAdd({ attribute: attribute.value, operator: place ? "$near" : comparison.value, value });
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
          const example = exampleOf(name);
          text.value = isPlace(example) ? nearText(example) : "";
        }}
      />
      {attribute.value && (
        <>
          <Choice
            label="Comparison"
            value={comparison.value}
            options={place ? PLACE_COMPARISONS : COMPARISONS}
            onChange={(operator) => {
              comparison.value = operator;
            }}
          />
          {typeof example === "boolean" ? (
            <Choice
              label="Value"
              value={text.value}
              options={[
                ["", "choose"],
                ["true", "yes"],
                ["false", "no"],
              ]}
              onChange={(value) => {
                text.value = value;
              }}
            />
          ) : (
            <>
              <Field label={place ? "Latitude, longitude, kilometres" : "Value"}>
                {(id) => (
                  <input
                    id={id}
                    list={listId}
                    autocomplete="off"
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
            </>
          )}
          <button type="button" disabled={isIncomplete} onClick={add}>
            {action}
          </button>
        </>
      )}
    </div>
  );
}
