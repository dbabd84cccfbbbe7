/** What all commands have in common: one form of help, how arguments are read, `--json`, and exit codes. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { ExpectedError, UsageError } from "./expected-error.ts";
import { reachThisMachine } from "./no-proxy.ts";

type ParsedOption = NonNullable<ParseArgsConfig["options"]>[string];
export type Flag = ParsedOption & {
  /** What the help calls the value, such as DIR. Absent for switches. */
  readonly value?: string;
  readonly help: string;
};
type Flags = Readonly<Record<string, Flag>>;

export type CommandLine<F extends Flags = Flags> = {
  /** As in `npm run NAME`. */
  readonly name: string;
  /** Continues the name to a sentence without its full stop. */
  readonly does: string;
  /** Ways to call it: arguments, and what they do. */
  readonly forms: readonly (readonly [args: string, does: string])[];
  readonly flags: F;
  /** Set if there are arguments besides flags. */
  readonly takesWords?: boolean;
  readonly notes?: string;
  /** Exit codes besides those of all commands, or instead of them. */
  readonly exitCodes?: Readonly<Record<number, string>>;
};

/** The parsed arguments. */
export type Given<F extends Flags> = {
  readonly flags: ReturnType<typeof parseArgs<{ options: F; strict: true; allowPositionals: true }>>["values"];
  readonly words: readonly string[];
};

/** What a command prints in the end: for people, or with --json. */
export type Result = { readonly text: string; readonly json?: unknown; readonly exitCode?: number };

const HELP: Flags = { help: { type: "boolean", help: "this text" } };
const EXIT_CODES = {
  0: "done",
  1: "it failed, for the reason on standard error",
  2: "wrong arguments or settings",
};
const COLUMNS = 118;
/** Longer forms and flags have a line of their own. */
const LEFT_COLUMNS_MAX = 40;

/** What is typed to call a command. */
export const callOf = (name: string, args = ""): string =>
  `npm ${name === "start" ? "start" : `run ${name}`}${args && ` -- ${args}`}`;

export function helpText({ name, does, forms, flags, notes, exitCodes }: CommandLine): string {
  const calls = forms.map(([args, help]) => [callOf(name, args), help] as const);
  const listed = Object.entries({ ...flags, ...HELP }).map(
    ([flag, { value, help }]) => [`--${flag}${value ? ` ${value}` : ""}`, help] as const,
  );
  const codes = Object.entries({ ...EXIT_CODES, ...exitCodes }).map(([code, means]) => `${code}: ${means}`);
  const parts = [
    wrapped(`${callOf(name)} ${does}.`, 0),
    columns(calls),
    columns(listed),
    notes,
    wrapped(`Exit codes: ${codes.join("; ")}.`, 0),
  ];
  return parts.filter((part) => part).join("\n\n");
}

/** Pairs in two columns, the right one wrapped. */
export function columns(pairs: readonly (readonly [left: string, right: string])[]): string {
  const lengths = pairs.map(([left]) => left.length).filter((length) => length <= LEFT_COLUMNS_MAX);
  const width = Math.max(0, ...lengths) + 4;
  const lines = pairs.map(([left, right]) => {
    const text = wrapped(right, width);
    const isShort = left.length <= LEFT_COLUMNS_MAX;
    return isShort ? `  ${left}`.padEnd(width) + text : `  ${left}\n${" ".repeat(width)}${text}`;
  });
  return lines.join("\n");
}

function wrapped(text: string, indent: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && indent + line.length + 1 + word.length > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}

/** Parses arguments; "help" if they ask for it. @throws UsageError with one sentence. */
export function parseCommandLine<F extends Flags>(command: CommandLine<F>, args: readonly string[]): Given<F> | "help" {
  if (args.includes("--help")) return "help";
  try {
    const allowPositionals = command.takesWords === true;
    const { values, positionals } = parseArgs({
      args: [...args],
      options: command.flags,
      strict: true,
      allowPositionals,
    });
    return { flags: values as Given<F>["flags"], words: positionals };
  } catch (cause) {
    const reason = (cause as Error).message.split(/\. |\n|\.$/)[0];
    throw new UsageError(`${reason}; ${callOf(command.name, "--help")} lists the flags.`, { cause });
  }
}

export type Outcome = { readonly out: string; readonly err: string; readonly exitCode: number };

type Work<F extends Flags> = (given: Given<F>) => Promise<Result | number>;

/** What a command prints, and its exit code. A failure that is not expected is printed with its stack. */
export async function outcomeOf<F extends Flags>(
  command: CommandLine<F>,
  args: readonly string[],
  work: Work<F>,
): Promise<Outcome> {
  const line = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  try {
    const given = parseCommandLine(command, args);
    if (given === "help") return { out: line(helpText(command)), err: "", exitCode: 0 };
    const result = await work(given);
    if (typeof result === "number") return { out: "", err: "", exitCode: result };
    const { text, json = { message: text }, exitCode = 0 } = result;
    const isJson = (given.flags as { readonly json?: unknown }).json === true;
    return { out: line(isJson ? JSON.stringify(json) : text), err: "", exitCode };
  } catch (error) {
    if (error instanceof ExpectedError) return { out: "", err: line(error.message), exitCode: error.exitCode };
    return { out: "", err: line(String((error as Error).stack ?? error)), exitCode: 1 };
  }
}

/** Runs the command of this process. `work` may have printed something already; an outcome that is a number prints nothing. */
export async function runCommand<F extends Flags>(command: CommandLine<F>, work: Work<F>): Promise<void> {
  reachThisMachine(process.env);
  const { out, err, exitCode } = await outcomeOf(command, process.argv.slice(2), work);
  process.stdout.write(out);
  process.stderr.write(err);
  process.exitCode = exitCode;
}
