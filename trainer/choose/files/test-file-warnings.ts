import type { Interactions } from "../../read/dataset/dataset.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";
import type { Protocol } from "../splits/choose-split.ts";

type Files = { readonly train: Interactions; readonly test: Interactions };
type Options = { readonly protocol: Protocol; readonly includeSeen: boolean };

/** If a smaller fraction of the ids is known from the train file, ids are probably written in two ways. */
const KNOWN_FRACTION_MIN = 0.05;

/** Warnings about an unusual test file, whose figures may not mean what the person expects. */
export function testFileWarnings(
  { train, test }: Files,
  cases: Pick<EvaluationCases, "count">,
  { protocol, includeSeen }: Options,
): string[] {
  const warnings: string[] = [];
  const usersOf = ({ userStart, userCount }: Interactions) =>
    Array.from({ length: userCount }, (_, user) => userStart[user]! < userStart[user + 1]!);
  const inTrain = usersOf(train);
  const users = usersOf(test).flatMap((isThere, user) => (isThere ? [inTrain[user]!] : []));
  const trainItems = new Set(train.items);
  const items = [...new Set(test.items)].map((item) => trainItems.has(item));
  for (const [what, isKnown] of [["users", users] as const, ["items", items] as const]) {
    const known = isKnown.filter(Boolean).length;
    // The users of the sessions protocol are new sessions.
    if (known >= KNOWN_FRACTION_MIN * isKnown.length || (what === "users" && protocol === "sessions")) continue;
    warnings.push(
      `Only ${known} of ${isKnown.length} ${what} of the test file are in the train file: are their ids written alike?`,
    );
  }
  if (cases.count === 0) warnings.push(`Nothing is measured: ${whyNothing(test, { protocol, includeSeen })}.`);
  return warnings;
}

function whyNothing({ items, positive }: Interactions, { protocol, includeSeen }: Options): string {
  const positives = positive.reduce((sum, isPositive) => sum + isPositive, 0);
  if (protocol === "sessions") return "no session of the test file has two positive rows";
  if (positives === 0 || includeSeen)
    return `${items.length - positives} of ${items.length} rows are not positive by their label`;
  return `the ${positives} positive rows have items that the user has in the train file (--include-seen counts them)`;
}
