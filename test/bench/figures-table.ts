import type { Figure } from "./bench.ts";

/** Formats the figures as a table: name, value, unit, reference, ratio. */
export function figuresTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, reference, ratio }) => [
    name,
    shown(value),
    unit,
    reference === undefined ? "" : shown(reference),
    ratio === undefined ? "" : `${shown(ratio)} ×`,
  ]);
  const all = [["figure", "value", "unit", "reference", "ratio"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const isNumber = (column: number) => column === 1 || column >= 3;
  return all
    .map((row) =>
      row
        .map((cell, i) => (isNumber(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const shown = (value: number) =>
  Number.isFinite(value) ? value.toLocaleString("en-US", { maximumSignificantDigits: 4 }) : String(value);
