import { ConditionForm } from "./condition-form.tsx";
import { conditionsIn, textOf, withCondition, withoutCondition } from "./filter-conditions.ts";
import { objectIn } from "./try-request.ts";
import { Field } from "./widgets.tsx";

/** A filter as a list of conditions. What the list cannot say is JSON. */
export function FilterForm({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const filter = objectIn(text);
  const conditions = conditionsIn(filter ?? {});
  return (
    <fieldset>
      <legend>Filter</legend>
      {conditions.length > 0 && (
        <ul class="entries">
          {conditions.map((condition) => (
            <li key={textOf(condition)}>
              {textOf(condition)}
              <button
                type="button"
                class="plain"
                aria-label={`Remove from the filter: ${textOf(condition)}`}
                onClick={() => onChange(withoutCondition(filter!, condition))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <ConditionForm
        action="Add to the filter"
        onAdd={(condition) => onChange(JSON.stringify(withCondition(filter ?? {}, condition)))}
      />
      <details open={filter === undefined}>
        <summary>The filter as JSON</summary>
        <Field
          label="Filter as JSON"
          hint={filter ? undefined : "This is no JSON object yet: the list is not filtered."}
        >
          {(id) => (
            <textarea
              id={id}
              rows={text ? 3 : 1}
              spellcheck={false}
              aria-invalid={filter === undefined}
              placeholder='{"price": {"$lt": 80}}'
              value={text}
              onInput={(event) => onChange(event.currentTarget.value)}
            />
          )}
        </Field>
      </details>
    </fieldset>
  );
}
