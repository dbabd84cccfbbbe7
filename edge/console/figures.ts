/** Numbers, times and metrics as the console writes them. */
import type { EvaluationReport, ModelRecord } from "../client/shortlist.ts";

/** Up to this width in pixels one column holds everything, so that long parts are short at first. */
export const PHONE_WIDTH = 768;

export const count = (value: number | null | undefined): string => value?.toLocaleString("en-US") ?? "–";
export const metric = (value: number | null | undefined): string =>
  value?.toFixed(4).replace(/^-(?=0\.0000$)/, "") ?? "–";
export const percent = (share: number, digits = 0): string => `${(100 * share).toFixed(digits)}\u00a0%`;

/** A ratio, such as "7.1 ×". */
export const times = (ratio: number): string => `${ratio.toFixed(ratio < 10 ? 1 : 0)} ×`;

export function bytes(value: number | null): string {
  if (value === null) return "–";
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 90 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${Math.round(value / 60)} min`;
}

/**
 * Units, their seconds, and from how many of them on they are used. A single day would be called tomorrow or yesterday, although 33 hours
 * may end on the day after.
 */
const UNITS = [
  ["month", 2_629_800, 2],
  ["day", 86_400, 2],
  ["hour", 3600, 1],
  ["minute", 60, 1],
] as const;
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A time beside now, such as "2 hours ago". */
export function ago(time: string | number | null | undefined): string {
  if (!time) return "never";
  const elapsed = (new Date(time).getTime() - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, length, from]) => Math.abs(elapsed) >= from * length) ?? ["second", 1];
  return RELATIVE.format(Math.round(elapsed / length), unit);
}

/** The time of day, such as "14:05". */
export const clock = (time: string | number): string =>
  new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The metric that chose the model's method, and popularity's. Null without a version. */
export function qualityOf({ metrics, objective }: ModelRecord) {
  if (metrics === null) return null;
  const name = objective?.metric ?? "ndcg@10";
  const [chosen, popularity] = [metrics[name], metrics.baseline[name]];
  return typeof chosen === "number" && popularity !== undefined
    ? { name: name.toUpperCase(), method: metrics.method, chosen, popularity }
    : null;
}

export type Candidate = EvaluationReport["candidates"][number];

/** The settings of a method, such as "dimensions 64, regularisation 100". */
export const settingsOf = (params: Readonly<Record<string, number>>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name.replaceAll(/(?=[A-Z])|_/g, " ").toLowerCase()} ${Number(value.toPrecision(3))}`)
    .join(", ");
