import type { ModelRecord } from "../client/shortlist.ts";
import { ago } from "./figures.ts";

type Failure = NonNullable<ModelRecord["failure"]>;

/** What to do about codes whose message does not say it. */
const REMEDIES: Readonly<Record<string, string>> = {
  source_shrunken: "The live version stays. If the loss is meant, train and ignore it once.",
  version_refused: "The live version stays. The report, under Runs, has the figures.",
  not_enough_events: "The training starts by itself when there are enough.",
};

const remedyOf = ({ code, retryable }: Failure): string =>
  REMEDIES[code] ??
  (retryable ? "It may succeed if it is started again." : "Change the model or its data, then train again.");

/** Why a run failed, and what to do. */
export function FailureText({ failure }: { failure: Failure }) {
  return (
    <>
      <p>
        <strong>{failure.message}</strong>
      </p>
      <p class="quiet">
        {failure.code} while {failure.stage}, {ago(failure.at)}. {remedyOf(failure)}
      </p>
    </>
  );
}
