import { type Signal, useSignal } from "@preact/signals";
import type { ModelRecord } from "../client/shortlist.ts";
import { specOfModel } from "./change-spec.ts";
import { ago, count } from "./figures.ts";
import { useAction } from "./loaded.ts";
import { client } from "./session.ts";
import { Problem, TextField } from "./widgets.tsx";

type Choice = { readonly user: string; readonly about: string };
type Found = { readonly from: "source" | "events"; readonly choices: readonly Choice[] };

type Props = {
  readonly user: string;
  /** Undefined while the trainer is away: then the source cannot be read. */
  readonly model: ModelRecord | undefined;
  readonly onChoose: (user: string) => void;
};

/** The user of the list: typed, or chosen among users of the source or of the newest events. A version has no user ids. */
export function ChooseUser({ user, model, onChoose }: Props) {
  const found: Signal<Found | undefined> = useSignal(undefined);
  const search = useAction(async (from: Found["from"]) => {
    found.value = undefined;
    found.value = { from, choices: await (from === "events" ? usersOfEvents() : usersOfSource(model!)) };
  });
  return (
    <>
      <TextField label="User id" value={user} hint={user ? "" : "Empty for an anonymous session."} onInput={onChoose} />
      <fieldset class="users" disabled={search.isRunning}>
        <legend>Choose a user</legend>
        <div class="buttons">
          <button type="button" disabled={!model} onClick={() => void search.run("source")}>
            From the source
          </button>
          <button type="button" onClick={() => void search.run("events")}>
            From events
          </button>
        </div>
        <p class="quiet" role="status">
          {search.isRunning ? "Searching…" : found.value?.choices.length === 0 && NONE[found.value.from]}
        </p>
        <Problem error={search.error} />
        {found.value && found.value.choices.length > 0 && (
          <ul class="choices" aria-label="Users">
            {found.value.choices.map(({ user: id, about }) => (
              <li key={id}>
                <button type="button" aria-pressed={id === user} onClick={() => onChoose(id)}>
                  {id} <span>{about}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </fieldset>
    </>
  );
}

const NONE = {
  source: "The rows that were read name no user.",
  events: "No user has sent an event in the last hour.",
} as const;

/** Reads the first rows of the source again, as the form of a new model does. */
async function usersOfSource(model: ModelRecord): Promise<Choice[]> {
  const { example_users = [] } = await client.value.dryRun(specOfModel(model));
  return example_users.map(({ user_id, rows }) => ({ user: user_id, about: `${count(rows)} rows` }));
}

async function usersOfEvents(): Promise<Choice[]> {
  const { newest_events } = await client.value.viewLive();
  const newest = new Map(newest_events.toReversed().map((event) => [event.user_id, event]));
  return [...newest.values()]
    .reverse()
    .map(({ user_id, type, arrived_at }) => ({ user: user_id, about: `${type}, ${ago(arrived_at)}` }));
}
