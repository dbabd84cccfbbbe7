import { parseArgs } from "node:util";
import { type CommandLine, helpText } from "../../trainer/command-line.ts";

export type BenchArguments =
  | {
      readonly kind: "run";
      readonly names: readonly string[];
      readonly json: boolean;
      /** Flags for the benches: `--rows 1e6` becomes rows → 1e6. */
      readonly flags: ReadonlyMap<string, string>;
    }
  | { readonly kind: "message"; readonly text: string; readonly isFault: boolean };

const BENCH = {
  name: "bench",
  does: "measures: a table of figures on standard output, progress on standard error",
  forms: [
    ["NAME…", "runs these benches; what one takes besides, such as --rows 1e6, stands in its file in test/bench/"],
    ["", "all of them run, for many hours"],
  ],
  flags: { json: { type: "boolean", help: "the figures as a JSON array" } },
  exitCodes: { 1: "it failed, or a figure is out of its bound" },
} as const satisfies CommandLine;

/** The benches to run; all of them if none is named. */
export function parseBenchArguments(args: readonly string[], known: readonly string[]): BenchArguments {
  const { values, positionals, tokens } = parseArgs({
    args: joinedFlags(args, known),
    options: { json: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const list = `The benches are ${known.join(", ")}.`;
  if (values.help) return { kind: "message", text: `${helpText(BENCH)}\n\n${list}`, isFault: false };
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined)
    return { kind: "message", text: `There is no bench ${JSON.stringify(unknown)}. ${list}`, isFault: true };
  const flags = new Map<string, string>();
  for (const token of tokens)
    if (token.kind === "option" && token.name !== "json" && token.name !== "help")
      flags.set(token.name, token.value ?? "");
  return {
    kind: "run",
    names: positionals.length ? [...new Set(positionals)] : known,
    json: values.json === true,
    flags,
  };
}

/**
 * Rewrites `--rows 1e6` as `--rows=1e6`, since parseArgs does not know which flags of a bench take a value. The name of a bench is no
 * value.
 */
function joinedFlags(args: readonly string[], known: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1);
    const takesValue = before !== undefined && /^--(?!json$|help$)[a-z-]+$/.test(before);
    const isValue = !arg.startsWith("--") && !known.includes(arg);
    if (takesValue && isValue) joined[joined.length - 1] = `${before}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}
