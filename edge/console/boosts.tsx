import { ConditionForm } from "./condition-form.tsx";
import { conditionsIn, textOf, withCondition } from "./filter-conditions.ts";
import { type Boost, objectIn } from "./try-request.ts";

const BY_DEFAULT = 0.5;

/** Boosts move the items that match a condition up or down. */
export function Boosts({ boosts, onChange }: { boosts: readonly Boost[]; onChange: (boosts: Boost[]) => void }) {
  return (
    <fieldset>
      <legend>Boosts</legend>
      {boosts.map(({ retrieval, by }, at) => (
        <div key={retrieval} class="boost">
          <label>
            {nameOf(retrieval)}: {by > 0 && "+"}
            {by.toFixed(1)}
            <input
              type="range"
              min="-3"
              max="3"
              step="0.1"
              value={by}
              onInput={(event) => onChange(boosts.with(at, { retrieval, by: Number(event.currentTarget.value) }))}
            />
          </label>
          <button
            type="button"
            class="plain"
            aria-label={`Remove the boost: ${nameOf(retrieval)}`}
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

const nameOf = (retrieval: string): string =>
  conditionsIn(objectIn(retrieval) ?? {})
    .map(textOf)
    .join(" and ");
