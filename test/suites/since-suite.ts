import { expect, test } from "vitest";
import type { Connector } from "../../trainer/read/connectors/connector.ts";
import { type Since, TALLY_MODULUS } from "../../trainer/read/connectors/since.ts";

export type TimeKind = "timestamp" | "zoned timestamp" | "date" | "integer" | "text";

export type SinceCase = {
  /** A connector onto a fresh store with a table "things" of columns n (integer) and t, a time as ISO text or number. */
  holding(kind: TimeKind, rows: readonly (readonly [number, string | number | null])[]): Promise<Connector>;
};

const never = new AbortController().signal;
const SECONDS = Date.UTC(2024, 1, 29, 12) / 1000;
const since: Since = { column: "t", epochSeconds: SECONDS, number: BigInt(SECONDS) * 1000n };

/** Values before and from the bound on, in microseconds since 1970 or as the number itself. */
const TIMES: Readonly<Record<Exclude<TimeKind, "text">, { readonly before: string[]; readonly from: string[] }>> = {
  timestamp: {
    before: ["2024-02-29 11:59:59.999999", "1969-12-31 23:59:58.5", "0001-01-01 00:00:00", "2024-02-29 00:00:00"],
    from: ["2024-02-29 12:00:00", "2024-02-29 12:00:00.000001", "2999-01-01 00:00:00"],
  },
  "zoned timestamp": {
    before: ["2024-02-29 11:59:59.999999+00", "2024-02-29 13:59:59+02"],
    from: ["2024-02-29 12:00:00+00", "2024-02-29 14:00:00+02"],
  },
  date: { before: ["2024-02-28", "1969-12-31"], from: ["2024-02-29", "2024-03-01"] },
  integer: {
    before: [`${SECONDS}000`, "-5", "0"].map((n, i) => (i === 0 ? String(Number(n) - 1) : n)),
    from: [`${SECONDS}000`, `${SECONDS}999`],
  },
};
/** The whole number of which the tally is made. */
function numberOf(kind: TimeKind, text: string): bigint {
  if (kind === "integer") return BigInt(text);
  const [, head, fraction = "", zone = "Z"] = /^(.*?)(?:\.(\d+))?(\+\d\d)?$/.exec(text.replace(" ", "T"))!;
  const iso = kind === "date" ? `${head}T00:00:00Z` : `${head}${zone === "Z" ? zone : `${zone}:00`}`;
  return BigInt(Date.parse(iso)) * 1000n + BigInt(fraction.padEnd(6, "0"));
}

/** What every connector promises that can part a query's rows by time. */
export function sinceSuite({ holding }: SinceCase): void {
  const parted = async (connector: Connector) => {
    const found = await connector.readSince!("SELECT n, t FROM things;", { since, columns: ["n"], signal: never });
    if ("unsuitable" in found) throw new Error(found.unsuitable);
    return found;
  };
  const numbersOf = async (rows: Awaited<ReturnType<Connector["read"]>>) => {
    const numbers: number[] = [];
    for await (const chunk of rows.chunks) for (const row of chunk.getRows()) numbers.push(Number(row[0]));
    return numbers.sort((a, b) => a - b);
  };

  test.each(Object.entries(TIMES))(
    "each row is before or among the rows, by its %s",
    async (kind, { before, from }) => {
      const times = [...before, ...from, null];
      const connector = await holding(
        kind as TimeKind,
        times.map((time, n) => [n, time] as const),
      );
      try {
        const found = await parted(connector);
        const sum = before.reduce((all, time) => all + (numberOf(kind as TimeKind, time) % BigInt(TALLY_MODULUS)), 0n);
        expect(await found.before()).toEqual({ rows: before.length, times: sum });
        const rows = await found.rows();
        expect(rows.columns.map(({ name }) => name)).toEqual(["n"]);
        expect(await numbersOf(rows)).toEqual(times.map((_, n) => n).slice(before.length));
        expect((await found.hasChanged?.()) ?? false).toBe(false);
        // The connector is free again.
        expect(await numbersOf(await connector.read("SELECT n FROM things", { signal: never }))).toHaveLength(
          times.length,
        );
      } finally {
        await connector.close();
      }
    },
  );

  test("nothing before is a tally of nothing", async () => {
    const connector = await holding("timestamp", [[0, TIMES.timestamp.from[0]!]]);
    try {
      const found = await parted(connector);
      expect(await found.before()).toEqual({ rows: 0, times: 0n });
      expect(await numbersOf(await found.rows())).toEqual([0]);
    } finally {
      await connector.close();
    }
  });

  test("many rows are all there", async () => {
    const rows = Array.from({ length: 5000 }, (_, n) => [n, SECONDS * 1000 - 2500 + n] as const);
    const connector = await holding("integer", rows);
    try {
      const found = await parted(connector);
      expect((await found.before())?.rows).toBe(2500);
      expect(await numbersOf(await found.rows())).toEqual(Array.from({ length: 2500 }, (_, n) => n + 2500));
    } finally {
      await connector.close();
    }
  });

  test("text is refused with the reason", async () => {
    const connector = await holding("text", [[0, "2024-02-29 12:00:00"]]);
    try {
      expect(await connector.readSince!("SELECT n, t FROM things", { since, signal: never })).toEqual({
        unsuitable: expect.stringMatching(/its column "t" has the type (VARCHAR|text|STRING), whose order is not/),
      });
    } finally {
      await connector.close();
    }
  });
}
