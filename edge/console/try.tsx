import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ItemId, ModelRecord, RankedItems, ShortlistError } from "../client/shortlist.ts";
import { ChooseScenario } from "./choose-scenario.tsx";
import { CodeTabs } from "./code-tabs.tsx";
import { History } from "./history.tsx";
import { rememberRanked, useSample } from "./known-items.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { RankedList } from "./ranked-list.tsx";
import { actionCurl, apiPath, scenarioPath } from "./request-code.ts";
import { SaveScenario } from "./save-scenario.tsx";
import { client, page } from "./session.ts";
import { TryControls } from "./try-controls.tsx";
import { EMPTY_FORM, requestOf, type TryForm } from "./try-request.ts";
import { Confirm, Problem } from "./widgets.tsx";

/** A call is made this long after the last key press. */
const PAUSE_MS = 150;
const DETAILS = ["scores", "metadata", "reasons", "history"] as const;

/** What a list was answered with. `ms` is the time between request and answer in this browser. */
type Answer = { readonly ranked: RankedItems; readonly ms: number; readonly serverTiming: string };

/** A user's list, computed again at every change of the form. Without the model's record, attributes are known from answers. */
export function TryPage({ name, model }: { name: string; model: ModelRecord | undefined }) {
  const filled = useSignal<TryForm>({ ...EMPTY_FORM, user: page.value.query.get("user") ?? "" });
  const form = { ...filled.value, integerIds: model?.item_id_type === "integer" };
  const change = (part: Partial<TryForm>) => {
    filled.value = { ...filled.value, offset: 0, ...part };
  };
  const scenarios = useLoaded((signal) => client.value.listScenarios(name, { signal }), [name]);
  useSample(name);
  const request = { ...requestOf(form), return: [...DETAILS] };
  const { answer, error, rankAgain } = useRanked(name, JSON.stringify(request));
  const types = Object.keys(model?.input_schema.interaction.events ?? {});
  const { user } = form;
  const events = useLoaded(
    async (signal) => (user && types.length > 0 ? (await client.value.viewUserEvents(user, { signal })).events : []),
    [answer.value, types.length],
  );
  const send = useAction(async (item_id: ItemId, type: string) => {
    const rank_id = answer.value?.ranked.rank_id;
    await client.value.events({ user_id: user, item_id, type, ...(rank_id && { rank_id }) });
    rankAgain();
  });
  const names = scenarios.value?.scenarios.map((scenario) => scenario.name) ?? [];
  const isDeleting = useSignal(false);
  const remove = useAction(async () => {
    await client.value.deleteScenario(name, form.scenario);
    change({ scenario: "" });
    scenarios.reload();
  });
  return (
    <div class={answer.value ? "columns three" : "columns"}>
      <TryControls
        form={form}
        onChange={change}
        model={model}
        events={events.value ?? []}
        scenarios={
          <ChooseScenario
            model={name}
            names={names}
            form={form}
            onChange={change}
            onDelete={() => {
              isDeleting.value = true;
            }}
          />
        }
      />
      <section aria-labelledby="list-title">
        <h2 id="list-title">{user ? `The list of ${user}` : "The list"}</h2>
        <Problem error={error.value ?? send.error ?? remove.error} onRetry={rankAgain} />
        <Timing answer={answer.value} />
        {answer.value && (
          <RankedList
            model={name}
            ranked={answer.value.ranked}
            from={form.offset + 1}
            eventTypes={user ? types : []}
            onPick={(id) => change({ session: [...form.session.filter((other) => other !== id), id] })}
            onEvent={(id, type) => void send.run(id, type)}
          />
        )}
        <Pages shown={answer.value?.ranked.items.length ?? 0} form={form} onOffset={(offset) => change({ offset })} />
        <CodeTabs call={{ origin: location.origin, model: name, request }} />
        <SaveScenario model={name} names={names} form={form} onChange={change} onSaved={scenarios.reload} />
      </section>
      {answer.value && (
        <History
          user={user}
          session={form.session}
          ranked={answer.value.ranked}
          onSession={(session) => change({ session })}
        />
      )}
      {isDeleting.value && (
        <Confirm
          title={`Delete the scenario ${form.scenario}?`}
          action="Delete the scenario"
          curl={actionCurl("DELETE", location.origin + scenarioPath(name, form.scenario))}
          onAnswer={(isConfirmed) => {
            isDeleting.value = false;
            if (isConfirmed) void remove.run();
          }}
        >
          <p>Rank calls that name it then fail.</p>
        </Confirm>
      )}
    </div>
  );
}

type PagesProps = {
  readonly shown: number;
  readonly form: TryForm;
  readonly onOffset: (offset: number) => void;
};

/** The pages of the list before and after this one. Their length is the limit, or what a scenario has answered. */
function Pages({ shown, form: { limit, offset }, onOffset }: PagesProps) {
  const length = limit ?? (offset > 0 ? offset : shown);
  return (
    <div class="buttons">
      {offset > 0 && (
        <button type="button" onClick={() => onOffset(Math.max(0, offset - length))}>
          Previous page
        </button>
      )}
      {shown > 0 && shown >= length && (
        <button type="button" onClick={() => onOffset(offset + length)}>
          Next page
        </button>
      )}
    </div>
  );
}

function Timing({ answer }: { answer: Answer | undefined }) {
  return (
    <p class="quiet" role="status">
      {answer
        ? `${answer.ranked.items.length} items, ${answer.ranked.strategy}, in ${Math.round(answer.ms)} ms` +
          (answer.serverTiming && ` (waited at the edge: ${answer.serverTiming})`)
        : "Ranking…"}
    </p>
  );
}

/** The list for a request, given as JSON. After a failure, the last list stays. */
function useRanked(model: string, request: string) {
  const answer: Signal<Answer | undefined> = useSignal(undefined);
  const error: Signal<ShortlistError | undefined> = useSignal(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const rank = async () => {
      let serverTiming = "";
      const onResponse = ({ headers }: Response) => {
        serverTiming = timingIn(headers.get("server-timing") ?? "");
      };
      const startMs = performance.now();
      try {
        const ranked = await client.value.call<RankedItems>("POST", `${apiPath(model)}/rank`, {
          body: request,
          signal,
          onResponse,
          attemptsMax: 1,
        });
        const ms = performance.now() - startMs;
        rememberRanked(ranked);
        answer.value = { ranked, ms, serverTiming };
        error.value = undefined;
      } catch (thrown) {
        if (!signal.aborted) error.value = thrown as ShortlistError;
      }
    };
    const timer = setTimeout(rank, answer.value ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [model, request, attempt.value]);
  const rankAgain = () => {
    attempt.value++;
  };
  return { answer, error, rankAgain };
}

/** "version;dur=2, record;dur=0" as "version 2 ms". Waits of 0 ms are left out. */
const timingIn = (header: string): string =>
  [...header.matchAll(/(\w+);dur=(\d+)/g)]
    .filter(([, , ms]) => Number(ms) > 0)
    .map(([, name, ms]) => `${name} ${ms} ms`)
    .join(", ");
