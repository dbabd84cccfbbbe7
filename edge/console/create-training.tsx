import type { CreateForm } from "./create-spec.ts";
import { Choice, TextField } from "./widgets.tsx";

type Props = { readonly form: CreateForm; readonly onChange: (part: Partial<CreateForm>) => void };

const CRON = "cron";
const CRON_EXAMPLE = "30 4 * * *";
const SCHEDULES = [
  ["@once", "once, and when you say so"],
  ["@hourly", "hourly"],
  ["@daily", "daily"],
  ["@weekly", "weekly"],
  [CRON, "at the times of a cron line"],
] as const;
const METRICS = [
  ["ndcg", "NDCG: wanted items come first"],
  ["mrr", "MRR: the first wanted item comes early"],
  ["recall", "recall: many of the wanted items"],
  ["hr", "hit rate: at least one wanted item"],
] as const;

/** When the model trains, and what a good list is. */
export function CreateTraining({ form: { schedule, metric, coverage }, onChange }: Props) {
  const [name = "", places = ""] = metric.split("@");
  const isNamed = SCHEDULES.some(([value]) => value === schedule);
  return (
    <>
      <Choice
        label="Train"
        value={isNamed ? schedule : CRON}
        options={SCHEDULES}
        onChange={(chosen) => onChange({ schedule: chosen === CRON ? CRON_EXAMPLE : chosen })}
      />
      {!isNamed && (
        <TextField
          label="Cron line"
          value={schedule}
          hint="Minute, hour, day, month and weekday, in UTC."
          required
          onInput={(line) => onChange({ schedule: line })}
        />
      )}
      <details>
        <summary>What a good list is</summary>
        <Choice
          label="Methods are compared by"
          value={name}
          options={METRICS}
          onChange={(chosen) => onChange({ metric: `${chosen}@${places}` })}
        />
        <TextField
          label="Places that count"
          type="number"
          value={places}
          hint="The first of a list: 1 to 50."
          required
          onInput={(count) => onChange({ metric: `${name}@${count}` })}
        />
        <TextField
          label="Coverage of at least"
          value={coverage}
          hint="Optional, 0 to 1: the share of all items that lists should show together."
          placeholder="0.2"
          onInput={(share) => onChange({ coverage: share })}
        />
      </details>
    </>
  );
}
