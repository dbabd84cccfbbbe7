import type { ComponentChildren } from "preact";
import type { ModelRecord, UserEvents } from "../client/shortlist.ts";
import { Boosts } from "./boosts.tsx";
import { ChooseUser } from "./choose-user.tsx";
import { PHONE_WIDTH } from "./figures.ts";
import { FilterForm } from "./filter-form.tsx";
import { LatestEvents } from "./latest-events.tsx";
import type { TryForm } from "./try-request.ts";
import { Caller, Rules } from "./try-rules.tsx";
import { Choice, Field, TextField } from "./widgets.tsx";

const LIMIT_MAX = 100;

const STRATEGIES = [
  ["", "the default"],
  ["auto", "for this user"],
  ["popular", "popular items"],
  ["trending", "trending items"],
  ["newest", "newest items"],
] as const;
const SEEN = [
  ["", "the default"],
  ["exclude", "are left out"],
  ["include", "may come back"],
  ["only", "are the only ones: to choose again"],
] as const;

type Props = {
  readonly form: TryForm;
  readonly onChange: (part: Partial<TryForm>) => void;
  readonly model: ModelRecord | undefined;
  readonly events: UserEvents["events"];
  /** The choice of a scenario. */
  readonly scenarios: ComponentChildren;
};

/** Everything that a rank call can say. */
export function TryControls({ form, onChange, model, events, scenarios }: Props) {
  return (
    <form class="card controls" aria-label="Rank call" onSubmit={(event) => event.preventDefault()}>
      <ChooseUser user={form.user} model={model} onChoose={(user) => onChange({ user })} />
      <LatestEvents events={events} />
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
        label="Which list"
        value={form.strategy}
        options={STRATEGIES}
        onChange={(strategy) => onChange({ strategy })}
      />
      <Choice label="Seen items" value={form.seen} options={SEEN} onChange={(seen) => onChange({ seen })} />
      {scenarios}
      <details open={innerWidth > PHONE_WIDTH}>
        <summary>Filter, boosts and rules</summary>
        <FilterForm text={form.retrieval} onChange={(retrieval) => onChange({ retrieval })} />
        <Boosts boosts={form.boosts} onChange={(boosts) => onChange({ boosts })} />
        <Share label="Diversity" value={form.diversity} onChange={(diversity) => onChange({ diversity })} />
        <Share label="Exploration" value={form.exploration} onChange={(exploration) => onChange({ exploration })} />
        <Rules form={form} onChange={onChange} />
        <Caller form={form} onChange={onChange} />
      </details>
    </form>
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
