import type { UserEvents } from "../client/shortlist.ts";
import { Boosts } from "./boosts.tsx";
import { ConditionForm } from "./condition-form.tsx";
import { titleOf } from "./known-items.ts";
import { LatestEvents } from "./latest-events.tsx";
import { objectIn, type TryForm } from "./try-request.ts";
import { Rules } from "./try-rules.tsx";
import { Choice, Field, TextField } from "./widgets.tsx";

const LIMIT_MAX = 100;
/** Below this width in pixels the list is below the form, which is then short at first. */
const PHONE_WIDTH = 768;

type Props = {
  readonly form: TryForm;
  readonly onChange: (part: Partial<TryForm>) => void;
};

type Offers = { readonly scenarios: readonly string[]; readonly events: UserEvents["events"] };

/** Everything that a rank call can say. */
export function TryControls({ form, onChange, scenarios, events }: Props & Offers) {
  return (
    <form class="card controls" aria-label="Rank call" onSubmit={(event) => event.preventDefault()}>
      <TextField
        label="User id"
        value={form.user}
        hint={form.user ? "" : "Empty for an anonymous session."}
        onInput={(user) => onChange({ user })}
      />
      <LatestEvents events={events} />
      <Session form={form} onChange={onChange} />
      <TextField
        label="Limit"
        type="number"
        value={String(form.limit ?? "")}
        placeholder={form.scenario ? "as in the scenario" : "the default"}
        onInput={(text) =>
          onChange({ limit: text ? Math.max(1, Math.min(LIMIT_MAX, Math.floor(Number(text)) || 1)) : null })
        }
      />
      <Choice
        label="Scenario"
        value={form.scenario}
        options={[["", "none"], ...scenarios.map((name) => [name, name] as const)]}
        onChange={(scenario) => onChange({ scenario, ...(scenario && { limit: null }) })}
      />
      <details open={innerWidth > PHONE_WIDTH}>
        <summary>Filter, boosts and rules</summary>
        <Filter form={form} onChange={onChange} />
        <Boosts boosts={form.boosts} onChange={(boosts) => onChange({ boosts })} />
        <Share label="Diversity" value={form.diversity} onChange={(diversity) => onChange({ diversity })} />
        <Share label="Exploration" value={form.exploration} onChange={(exploration) => onChange({ exploration })} />
        <Rules form={form} onChange={onChange} />
        <label class="check">
          <input
            type="checkbox"
            checked={form.excludeSeen}
            onChange={(event) => onChange({ excludeSeen: event.currentTarget.checked })}
          />
          Leave out what the user has seen
        </label>
      </details>
    </form>
  );
}

function Session({ form, onChange }: Props) {
  return (
    <fieldset>
      <legend>Session</legend>
      {form.session.length === 0 ? (
        <p class="quiet">Add items from the list, as if the user had just chosen them.</p>
      ) : (
        <ul class="session">
          {form.session.map((id) => (
            <li key={id}>
              {titleOf(id)}
              <button
                type="button"
                class="plain"
                aria-label={`Remove from the session: ${titleOf(id)}`}
                onClick={() => onChange({ session: form.session.filter((other) => other !== id) })}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

function Filter({ form, onChange }: Props) {
  const filter = objectIn(form.retrieval);
  return (
    <fieldset>
      <legend>Filter</legend>
      <Field label="Filter as JSON" hint={filter ? undefined : "This is no JSON object yet: the list is not filtered."}>
        {(id) => (
          <textarea
            id={id}
            rows={form.retrieval ? 3 : 1}
            spellcheck={false}
            aria-invalid={filter === undefined}
            placeholder='{"price": {"$lt": 80}}'
            value={form.retrieval}
            onInput={(event) => onChange({ retrieval: event.currentTarget.value })}
          />
        )}
      </Field>
      <ConditionForm
        action="Add to the filter"
        onAdd={(condition) => onChange({ retrieval: JSON.stringify({ ...filter, ...condition }) })}
      />
    </fieldset>
  );
}

function Share({ label, value, onChange }: { label: string; value: number; onChange: (value: number) => void }) {
  return (
    <Field label={`${label} ${value.toFixed(1)}`}>
      {(id) => (
        <input
          id={id}
          type="range"
          min="0"
          max="1"
          step="0.1"
          value={value}
          onInput={(event) => onChange(Number(event.currentTarget.value))}
        />
      )}
    </Field>
  );
}
