import { ConditionForm } from "./condition-form.tsx";
import { conditionsIn, textOf, withCondition } from "./filter-conditions.ts";
import { type Boost, objectIn } from "./try-request.ts";

const BY_DEFAULT = 0.5;

/** Boosts move the items that match a condition up or down. */
export function Boosts({ boosts, onChange }: { boosts: readonly Boost[]; onChange: (boosts: Boost[]) => void }) {
  return (
    <fieldset>
      <legend>Boosts</legend>
      {boosts.map((boost, at) => (
        <div key={nameOf(boost)} class="boost">
          <label>
            {nameOf(boost)}: {boost.by > 0 && "+"}
            {boost.by.toFixed(1)}
            <input
              type="range"
              min="-3"
              max="3"
              step="0.1"
              value={boost.by}
              onInput={(event) => onChange(boosts.with(at, { ...boost, by: Number(event.currentTarget.value) }))}
            />
          </label>
          <button
            type="button"
            class="plain"
            aria-label={`Remove the boost: ${nameOf(boost)}`}
            onClick={() => onChange(boosts.toSpliced(at, 1))}
          >
            Remove
          </button>
        </div>
      ))}
      <ConditionForm
        action="Boost it"
        onAdd={(condition) => {
          const retrieval = JSON.stringify(withCondition({}, condition));
          const others = boosts.filter((boost) => boost.retrieval !== retrieval);
          onChange([...others, { retrieval, by: BY_DEFAULT }]);
        }}
      />
    </fieldset>
  );
}

/** Such as "category is lamps", or "added, half_life_days 14" for a boost by an attribute. */
function nameOf({ retrieval, fields }: Boost): string {
  if (!fields)
    return conditionsIn(objectIn(retrieval) ?? {})
      .map(textOf)
      .join(" and ");
  const { attribute, ...others } = fields;
  return [attribute, ...Object.entries(others).map(([name, value]) => `${name} ${JSON.stringify(value)}`)].join(", ");
}
