/** A check of the doctor, and how checks are run: side by side, each with a timeout, and none stopped by the fault of another. */

export type State = "ok" | "warning" | "fault";

export type Outcome = {
  readonly state: State;
  /** One sentence without a secret. */
  readonly finding: string;
  /** What the operator does about it; empty if nothing is to be done. */
  readonly remedy: string;
};

export type Check = {
  readonly name: string;
  /** Stops its work when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<Outcome>;
};

export type Finding = Outcome & { readonly name: string };

export const CHECK_MS_MAX = 10_000;

export const ok = (finding: string): Outcome => ({ state: "ok", finding, remedy: "" });
export const warning = (finding: string, remedy: string): Outcome => ({ state: "warning", finding, remedy });
export const fault = (finding: string, remedy: string): Outcome => ({ state: "fault", finding, remedy });

/** The finding of checks that call the edge with a key, where there is none. */
export const withoutKey = (isOnThisMachine: boolean): Outcome =>
  warning(
    "Not checked: there is no API key.",
    isOnThisMachine
      ? "Start npm run serve, which writes one into local.json."
      : "Set SHORTLIST_API_KEY to a key with the scope manage.",
  );

/** The findings in the order of the checks. A check that throws or does not end in time is a fault. */
export async function runChecks(checks: readonly Check[], msMax: number = CHECK_MS_MAX): Promise<Finding[]> {
  return await Promise.all(checks.map(async (check) => ({ name: check.name, ...(await outcomeOf(check, msMax)) })));
}

async function outcomeOf({ run }: Check, msMax: number): Promise<Outcome> {
  const signal = AbortSignal.timeout(msMax);
  const { promise: late, resolve } = Promise.withResolvers<Outcome>();
  const timer = setTimeout(
    () =>
      resolve(
        fault(`The check did not end within ${msMax / 1000} s.`, "Run it again when the machine has less to do."),
      ),
    msMax + 100,
  );
  try {
    return await Promise.race([run(signal), late]);
  } catch (error) {
    return fault(`The check failed: ${(error as Error).message}`, "Report this with the output of --json.");
  } finally {
    clearTimeout(timer);
  }
}
