import { useSignal } from "@preact/signals";
import type { ModelRecord } from "../client/shortlist.ts";
import { useAction } from "./loaded.ts";
import { client } from "./session.ts";
import { Problem, TextField } from "./widgets.tsx";

/** When the model trains again. */
export function Schedule({ model, onChange }: { model: ModelRecord; onChange: () => void }) {
  const schedule = useSignal(model.train_schedule);
  const isSaved = useSignal(false);
  const save = useAction(() => client.value.changeModel(model.model_name, { train_schedule: schedule.value }));
  return (
    <section>
      <h2>When it trains</h2>
      <form
        class="row"
        onSubmit={async (event) => {
          event.preventDefault();
          isSaved.value = await save.run();
          if (isSaved.value) onChange();
        }}
      >
        <TextField
          label="Schedule"
          value={schedule.value}
          hint="@once, @hourly, @daily, @weekly, or a cron line of five fields in UTC."
          required
          onInput={(text) => {
            schedule.value = text;
            isSaved.value = false;
          }}
        />
        <button type="submit" disabled={save.isRunning || schedule.value === model.train_schedule}>
          Change the schedule
        </button>
      </form>
      <p role="status">{isSaved.value && "Changed."}</p>
      <Problem error={save.error} />
    </section>
  );
}
