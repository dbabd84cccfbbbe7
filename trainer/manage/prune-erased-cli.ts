/** The program of `npm run prune-erased`: shortens a customer's list of erased users. */
import { type CommandLine, runCommand } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { erasuresByHour, pruneErasures } from "./records/erasures.ts";
import { withRecords } from "./with-records.ts";

const PRUNE_ERASED = {
  name: "prune-erased",
  does: "counts a customer's erasures by the hour, or forgets those of a time",
  forms: [
    ["CUSTOMER", "counts the erasures"],
    ["CUSTOMER FROM UNTIL", "forgets those of a time, such as 2026-11-23T14:00Z 2026-11-23T16:00Z"],
  ],
  flags: {},
  takesWords: true,
  notes: "It uses the variables of the trainer (or .env). With an embedded database, stop the trainer first.",
} as const satisfies CommandLine;

await runCommand(PRUNE_ERASED, async ({ words: [customer, ...times] }) => {
  const [from, until] = times.map((text) => Date.parse(text)) as [number, number];
  const isRange = times.length === 2 && from < until;
  if (!customer || (times.length > 0 && !isRange))
    throw new UsageError("CUSTOMER is needed, and FROM and UNTIL are two times, the earlier one first. See --help.");
  return await withRecords(async (records) => {
    if (!isRange) return { text: (await erasuresByHour(customer, records.database)).join("\n") };
    const range = { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
    const { removed, left } = await pruneErasures({ customer, ...range }, records);
    return { text: `Removed ${removed} erased users of ${customer}; ${left} are left.` };
  });
});
