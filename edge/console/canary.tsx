import type { ModelRecord } from "../client/shortlist.ts";
import { LiftText } from "./experiment-plot.tsx";
import { ReportView } from "./experiment-report.tsx";
import { ago, count, percent } from "./figures.ts";
import { Table } from "./widgets.tsx";

type Canary = NonNullable<ModelRecord["last_canary"]>;
type Earnings = NonNullable<ModelRecord["earnings"]>;

/** The version that serves a share of the users before it goes live, or that did so last. A trainer of an older release says nothing. */
export function CanaryPart({ canary }: { canary: Canary | null | undefined }) {
  if (!canary) return null;
  return (
    <section class="block">
      <h2>Canary</h2>
      <p>
        The version <code>{canary.version}</code> {stateOf(canary)} {canary.reason}
      </p>
      {canary.report && <ReportView report={canary.report} />}
    </section>
  );
}

function stateOf({ state, share, ends_at, ended_at }: Canary): string {
  if (state === "waiting") return "waits until the one before it is decided.";
  if (state === "live") return `went live ${ago(ended_at)}.`;
  if (state === "kept") return "has not gone live, and can still be activated.";
  return `serves ${percent(share, 1)} of the users, and goes live ${ago(ends_at)} unless it is worse.`;
}

/** What the model earns in all, by the users who are held out. */
export function EarningsPart({ earnings, goal }: { earnings: Earnings | null | undefined; goal: string | undefined }) {
  if (!earnings) return null;
  const { lift, more_per_1000_users: more, from, until, problem } = earnings;
  const rows = [
    ["With the model", earnings.model],
    ["Held out", earnings.holdout],
  ] as const;
  return (
    <section class="block">
      <h2>What the model earns in all</h2>
      {problem && <p class="problem">{problem}</p>}
      <p class="card">
        {lift === null || more === null ? (
          "There are too few users yet to say."
        ) : (
          <>
            <strong>
              Of 1,000 users, {more.toFixed(1)} more reach {goal ?? "the goal"} with the model.
            </strong>{" "}
            That is <LiftText lift={lift} />.
          </>
        )}
      </p>
      <Table label="With the model and without" head={["Users", "Who saw a list", "Reached the goal"]}>
        {rows.map(([title, { exposed, reached, rate }]) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            <td>{count(exposed)}</td>
            <td>
              {percent(rate, 1)} <span class="quiet">{count(reached)}</span>
            </td>
          </tr>
        ))}
      </Table>
      <p class="quiet">
        Users whose first list came from {from.slice(0, 10)} to {until.slice(0, 10)}.
      </p>
    </section>
  );
}
