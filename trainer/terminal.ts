/** Lines of a command for a person: on a terminal, progress is one line that is overwritten; elsewhere each report is a line. */
export type Terminal = {
  /** Whether progress is overwritten, so that it can be reported often. */
  readonly isLive: boolean;
  readonly print: (line: string) => void;
  readonly progress: (line: string) => void;
};

type Stream = { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };

const CLEAR = "\r\x1b[2K";

export function terminalOn(stream: Stream, environment: Readonly<Record<string, string | undefined>>): Terminal {
  if (stream.isTTY !== true || environment.TERM === "dumb" || environment.CI)
    return plainTerminal((line) => void stream.write(`${line}\n`));
  let hasProgress = false;
  return {
    isLive: true,
    print(line) {
      stream.write(`${hasProgress ? CLEAR : ""}${line}\n`);
      hasProgress = false;
    },
    progress(line) {
      stream.write(`${CLEAR}${line.slice(0, (stream.columns ?? 80) - 1)}`);
      hasProgress = true;
    },
  };
}

/** All lines alike, for files and pipes. */
export const plainTerminal = (print: (line: string) => void): Terminal => ({ isLive: false, print, progress: print });
