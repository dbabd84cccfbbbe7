import type { EvaluationReport, GateVerdict } from "../../../shared/evaluation-report.ts";
import { POPULARITY } from "../../../shared/manifest.ts";
import { signed } from "../evaluate/evaluation-figures.ts";

/** Positive interactions that a new version needs; read/dataset/checks.ts already requires two items. */
const POSITIVES_MIN = 1;

/**
 * Decides whether a challenger may go live, with the reasons in words.
 *
 * A challenger is refused when its mean is not above popularity's, when its paired 95 % interval to the live version is below 0, or when
 * a source has lost more than half of its rows or of its chosen items, or all values of an attribute, since the live version. The live
 * version is represented by its method and settings, fitted on the same training part, because its published file may have learnt from the
 * validation part. Without such a fit, it is not compared, and the notes say so; popularity is then refused, unless a source has shrunk.
 *
 * @param challenger The report of the selection that made it.
 * @param live The stored report of the live version; undefined when there is none.
 * @param ignored Refusals that are only noted.
 */
export function gate(
  challenger: EvaluationReport,
  live: EvaluationReport | undefined,
  ignored: GateVerdict["codes"] = [],
): GateVerdict {
  const reasons = [...floorReasons(challenger), ...popularityReasons(challenger)];
  const notes = [...popularityNotes(challenger)];
  if (live) {
    reasons.push(...liveReasons(challenger, live));
    notes.push(...liveNotes(challenger, live));
  }
  const shrunken = live ? shrunkenReasons(challenger, live) : [];
  if (live && shrunken.length === 0) reasons.push(...impersonalReasons(challenger, live));
  if (ignored.includes("source_shrunken")) notes.push(...shrunken.map((reason) => `Ignored by the call: ${reason}`));
  else if (shrunken.length > 0 && reasons.length === 0)
    return { pass: false, codes: ["source_shrunken"], reasons: shrunken, notes };
  else reasons.push(...shrunken);
  return { pass: reasons.length === 0, reasons, notes };
}

function floorReasons({ data }: EvaluationReport): string[] {
  return data.positives < POSITIVES_MIN ? ["There is no positive interaction to learn from."] : [];
}

function popularityReasons({ chosen, chosen_by, lift }: EvaluationReport): string[] {
  const difference = lift[chosen_by]?.value ?? null;
  if (chosen.method === POPULARITY || difference === null || difference > 0) return [];
  return [
    `The ${chosen.method} model is no better than popularity: its ${chosen_by} differs by ${signed(difference)}.`,
  ];
}

function popularityNotes({ chosen, chosen_by, lift, split }: EvaluationReport): string[] {
  if (chosen.method === POPULARITY) return ["Lists are by popularity: nothing else was reliably better."];
  const difference = lift[chosen_by];
  if (!difference || difference.value === null) return [];
  const interval = `${signed(difference.low)} to ${signed(difference.high)}`;
  return [
    `${chosen_by} differs from popularity's by ${signed(difference.value)} (${interval}) on ${split.validation.users_measured} users.`,
  ];
}

function liveReasons({ chosen, chosen_by, live: tried }: EvaluationReport, live: EvaluationReport): string[] {
  const lift = tried?.lift;
  if (!lift || lift.high === null || lift.high >= 0) return [];
  const who = `The ${chosen.method} model is worse than the live version's ${live.chosen.method}`;
  const difference = `${signed(lift.value)} (${signed(lift.low)} to ${signed(lift.high)})`;
  return [`${who} on the same users: ${chosen_by} differs by ${difference}.`];
}

/** A run without the time or memory for personal lists does not take them away. */
function impersonalReasons({ chosen, live: tried }: EvaluationReport, live: EvaluationReport): string[] {
  if (tried || chosen.method !== POPULARITY || live.chosen.method === POPULARITY) return [];
  return [
    `Lists would be popular items for everybody: the live version's ${live.chosen.method} could not be tried within the time and memory.`,
  ];
}

const SHRUNK_FRACTION = 0.5;

const ATTRIBUTES_SHOWN = 5;

/** What sources have lost since the live version was made. Sources that are configured otherwise now are not compared. */
function shrunkenReasons({ sources: now }: EvaluationReport, { sources: before }: EvaluationReport): string[] {
  return (["interactions", "items"] as const).flatMap((what) => {
    const [ours, theirs] = [now?.[what], before?.[what]];
    if (!ours || !theirs || ours.digest !== theirs.digest) return [];
    const emptied = Object.entries(theirs.attributes ?? {})
      .filter(([name, present]) => present > 0 && (ours.attributes?.[name] ?? 0) === 0)
      .map(([name]) => JSON.stringify(name));
    const names = emptied.slice(0, ATTRIBUTES_SHOWN).join(", ") + (emptied.length > ATTRIBUTES_SHOWN ? ", …" : "");
    const noValue = `No row of the source of ${what} has a value of ${names} any more.`;
    return [
      ...(ours.rows < SHRUNK_FRACTION * theirs.rows
        ? [`The source of ${what} has ${ours.rows} rows, and had ${theirs.rows} when the live version was made.`]
        : []),
      ...(emptied.length > 0 && ours.rows > 0 ? [noValue] : []),
      ...((ours.chosen ?? 0) < SHRUNK_FRACTION * (theirs.chosen ?? 0) && ours.rows > 0
        ? [`The source of ${what} has ${ours.chosen ?? 0} items that were interacted with, and had ${theirs.chosen}.`]
        : []),
    ];
  });
}

function liveNotes(challenger: EvaluationReport, live: EvaluationReport): string[] {
  const notes: string[] = [];
  const lift = challenger.live?.lift;
  if (lift) {
    const interval = `${signed(lift.low)} to ${signed(lift.high)}`;
    notes.push(
      `Against the live version's ${live.chosen.method}, fitted on the same part: ${signed(lift.value)} (${interval}).`,
    );
  } else if (live.chosen.method !== POPULARITY) {
    notes.push(`The live version's ${live.chosen.method} could not be tried on the new data, so it was not compared.`);
  }
  for (const what of ["users", "items", "interactions"] as const) {
    const [now, before] = [challenger.data[what], live.data[what]];
    if (now < SHRUNK_FRACTION * before)
      notes.push(`The data have shrunk: ${now} ${what}, and ${before} when the live version was made.`);
  }
  return notes;
}
