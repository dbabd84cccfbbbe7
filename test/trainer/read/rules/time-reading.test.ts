import { expect, test } from "vitest";
import { NOW_MS, readRows, specOf } from "../../../fixtures/rows-spec.ts";

/** SQL of rows with these times; other columns are as good as any. */
const rowsWith = (times: readonly string[]) => {
  const values = times.map((time, i) => `('u${i % 3}', 'i${i % 4}', ${time}, 1)`);
  return `SELECT * FROM (VALUES ${values.join(", ")}) AS rows(u, i, t, l)`;
};
const texts = (times: readonly string[]) => rowsWith(times.map((time) => `'${time}'`));

async function readTimes(sql: string, format?: string) {
  const spec = specOf({ interactions: sql });
  if (format) spec.schema.interaction.created_at_format = format;
  const { dataset, summary } = await readRows(spec, { rejectedFractionMax: 0.9 });
  const times = [...dataset.times].sort((a, b) => a - b).map((s) => new Date(s * 1000).toISOString().slice(0, 19));
  return { times, warnings: summary.warnings };
}
const check = async (sql: string, expected: readonly string[], said?: string) => {
  const { times, warnings } = await readTimes(sql);
  expect(times).toEqual(expected);
  if (said) expect(warnings[0]).toMatch(said);
};

test.each<[string, string[], string[]]>([
  ["%d/%m/%Y %H:%M", ["31/12/2023 23:59", "01/02/2024 08:05"], ["2023-12-31T23:59:00", "2024-02-01T08:05:00"]],
  ["%m/%d/%Y %H:%M", ["12/1/2010 8:26", "12/13/2010 8:26"], ["2010-12-01T08:26:00", "2010-12-13T08:26:00"]],
  [
    "%b %d, %Y %I:%M %p",
    ["Dec 31, 2023 11:59 PM", "May 5, 2024 12:00 AM"],
    ["2023-12-31T23:59:00", "2024-05-05T00:00:00"],
  ],
  ["%d.%m.%y", ["31.12.23", "01.02.24"], ["2023-12-31T00:00:00", "2024-02-01T00:00:00"]],
  [
    "%d/%b/%Y:%H:%M:%S %z",
    ["10/Oct/2000:13:55:36 -0700", "11/Oct/2000:13:55:36 +0000"],
    ["2000-10-10T20:55:36", "2000-10-11T13:55:36"],
  ],
  [
    "%a, %d %b %Y %H:%M:%S %z",
    ["Sun, 31 Dec 2023 23:59:00 +0000", "Mon, 01 Jan 2024 01:00:00 +0100"],
    ["2023-12-31T23:59:00", "2024-01-01T00:00:00"],
  ],
  [
    "%a %b %d %Y %H:%M:%S GMT%z",
    ["Mon Jan 01 2024 01:00:00 GMT+0100 (Central European Standard Time)", "Mon Jan 01 2024 01:00:00 GMT+0000"],
    ["2024-01-01T00:00:00", "2024-01-01T01:00:00"],
  ],
  [
    "%a %b %d %H:%M:%S %z %Y",
    ["Mon Jan 01 01:00:00 +0100 2024", "Tue Jan 02 01:00:00 +0000 2024"],
    ["2024-01-01T00:00:00", "2024-01-02T01:00:00"],
  ],
  [
    "%a %b %d %H:%M:%S %Z %Y",
    ["Mon Jan 01 01:00:00 UTC 2024", "Tue Jan  2 01:00:00 UTC 2024"],
    ["2024-01-01T01:00:00", "2024-01-02T01:00:00"],
  ],
  [
    "%A, %B %d, %Y",
    ["Monday, January 1, 2024", "Wednesday, May 1, 2024"],
    ["2024-01-01T00:00:00", "2024-05-01T00:00:00"],
  ],
  ["%m %d, %Y", ["01 13, 2024", "5 1, 2024"], ["2024-01-13T00:00:00", "2024-05-01T00:00:00"]],
  [
    "%b %d, %Y @ %H:%M:%S.%f",
    ["Jan 1, 2024 @ 01:02:03.456", "Feb 11, 2024 @ 13:02:03.456"],
    ["2024-01-01T01:02:03", "2024-02-11T13:02:03"],
  ],
  [
    "%Y-%m-%d-%H.%M.%S.%f",
    ["2024-01-01-01.02.03.456789", "2024-01-01-13.02.03.456789"],
    ["2024-01-01T01:02:03", "2024-01-01T13:02:03"],
  ],
  [
    "%d-%b-%y %I.%M.%S.%f %p",
    ["01-JAN-24 01.02.03.456789 PM", "31-DEC-24 01.02.03.456789 AM"],
    ["2024-01-01T13:02:03", "2024-12-31T01:02:03"],
  ],
  [
    "%Y-%m-%d %I:%M:%S %p",
    ["2024-01-01 01:02:03 PM", "2024-01-02 01:02:03 AM"],
    ["2024-01-01T13:02:03", "2024-01-02T01:02:03"],
  ],
])("%s is found from the column", (format, given, expected) =>
  check(texts(given), expected, `"t" is read as ${format}, such as`),
);

test("digits of a day and a clock are times, as numbers and as texts", async () => {
  const times = ["2023-12-31T23:59:00", "2024-02-01T08:05:00"];
  await check(rowsWith(["20231231235900", "20240201080500"]), times, "read as %Y%m%d%H%M%S");
  await check(texts(["20231231235900", "20240201080500"]), times, "read as %Y%m%d%H%M%S");
  await check(rowsWith(["202312312359", "202402010805"]), times, "read as %Y%m%d%H%M");
  // Milliseconds that also are digits, of a day in 1701.
  await check(rowsWith(["1701120912000", "1701120912001"]), ["2023-11-27T21:35:12", "2023-11-27T21:35:12"]);
});

test("a given format also reads numbers; others stay what they are", async () => {
  const { times } = await readTimes(rowsWith(["3112202323", "1700000000"]), "%d%m%Y%H");
  expect(times).toEqual(["2023-11-14T22:13:20", "2023-12-31T23:00:00"]);
  const days = await readTimes(rowsWith(["20231231", "20240201"]), "%d/%m/%Y");
  expect(days.times).toEqual(["2023-12-31T00:00:00", "2024-02-01T00:00:00"]);
});

test("days as digits are days, as numbers and as texts", async () => {
  const days = ["2023-12-31T00:00:00", "2024-02-01T00:00:00"];
  await check(rowsWith(["20231231", "20240201"]), days, "days such as 20241231");
  await check(texts(["20231231", "20240201"]), days, "days such as 20241231");
  await check(rowsWith(["20231231", "1700000000"]), ["1970-08-23T03:47:11", "2023-11-14T22:13:20"]); // not all are days
});

test.each([
  ["2023-10-01T10:00Z", "2023-10-01T10:00:00"],
  ["20231001T100000Z", "2023-10-01T10:00:00"],
  ["20231001T1000+0200", "2023-10-01T08:00:00"],
  ["2023-10-01T10:00:00,5Z", "2023-10-01T10:00:00"],
  ["2023-10-01 10:00:00.25+05:30", "2023-10-01T04:30:00"],
  ["2023-10-01", "2023-10-01T00:00:00"],
  ["2023-10-01 10:00:00 -0400", "2023-10-01T14:00:00"],
  ["2023-10-01 10:00:00 Z", "2023-10-01T10:00:00"],
  ["2023-10-01T10:00:00+02:00[Europe/Berlin]", "2023-10-01T08:00:00"],
])("%s is ISO 8601", async (text, expected) => {
  const { times, warnings } = await readTimes(texts([text, "2024-01-01T00:00:00Z"]));
  expect(times).toEqual([expected, "2024-01-01T00:00:00"]);
  expect(warnings.filter((warning) => warning.includes("read as"))).toEqual([]);
});

test("day and month that could be either are refused with both readings and what decides", async () => {
  const error = await readTimes(texts(["03/01/2024", "04/02/2024"])).catch((cause) => cause);
  expect(error).toMatchObject({ code: "ambiguous_time" });
  for (const part of ["03/01/2024", "strptime(t, '%d/%m/%Y')", "strptime(t, '%m/%d/%Y')", "created_at_format"])
    expect(error.message).toContain(part);
  const given = await readTimes(texts(["03/01/2024", "04/02/2024"]), "%d/%m/%Y");
  expect(given.times).toEqual(["2024-01-03T00:00:00", "2024-02-04T00:00:00"]);
  await expect(readTimes(texts(["01/10/25", "02/11/24"]))).rejects.toMatchObject({ code: "ambiguous_time" });
  // Where both readings are the same day, nothing has to be decided.
  await check(texts(["05/05/2024", "06/06/2024"]), ["2024-05-05T00:00:00", "2024-06-06T00:00:00"]);
});

test("a file of ISO 8601 and one written format is read whole", () =>
  check(texts(["2023-12-31T23:59:00Z", "31/12/2023 08:00"]), ["2023-12-31T08:00:00", "2023-12-31T23:59:00"]));

test("what no format reads is counted, with its share in the first warning and its values", async () => {
  const half = ["Q1 2024", "Q2 2024", "soon", "never"];
  const { times, warnings } = await readTimes(texts(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", ...half]));
  expect(times).toHaveLength(4);
  expect(warnings[0]).toContain("Rows left out (4 of 8 rows, 50 %)");
  expect(warnings[0]).toContain('"Q1 2024", "Q2 2024", "soon"');
});

test("months that contradict each other are left out, not turned around", async () => {
  const { times, warnings } = await readTimes(texts(["31/12/2023", "30/11/2023", "12/31/2023"]));
  expect(times).toEqual(["2023-11-30T00:00:00", "2023-12-31T00:00:00"]);
  expect(warnings.find((warning) => warning.includes("12/31/2023"))).toContain("1 of 3 rows");
});

test("times far from today are still refused", async () => {
  expect(NOW_MS).toBeGreaterThan(0);
  const { times } = await readTimes(texts(["31/12/2023", "31/12/1901", "30/11/2023"]));
  expect(times).toHaveLength(2);
});
