/**
 * Times as people write them, apart from ISO 8601 and epoch numbers. A format is written as for strptime: %d day, %m month, %Y year, %y
 * year of two digits, %b and %B month by name, %a and %A weekday, %H and %I hour, %M minute, %S second, %f fraction, %p AM or PM,
 * %z and %Z zone.
 */

const TOKENS: Readonly<Record<string, string>> = {
  d: "\\d{1,2}",
  m: "\\d{1,2}",
  Y: "\\d{4}",
  y: "\\d{2}",
  b: "[A-Za-z]{3}",
  B: "[A-Za-z]{3,9}",
  a: "[A-Za-z]{3}",
  A: "[A-Za-z]{6,9}",
  H: "\\d{1,2}",
  I: "\\d{1,2}",
  M: "\\d{2}",
  S: "\\d{2}",
  f: "\\d{1,9}",
  p: "[AaPp][Mm]",
  z: "[+-]\\d{2}:?\\d{2}",
  Z: "(?:GMT|UTC)",
};

/** Between dots, a year of two digits comes last. */
const SEPARATORS = ["/", "-", "."];
const DAYS = [
  ...SEPARATORS.flatMap((s) => [`%d${s}%m${s}%Y`, `%m${s}%d${s}%Y`, `%d${s}%m${s}%y`, `%m${s}%d${s}%y`]),
  ...["%y/%m/%d", "%y-%m-%d"],
  ...["%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y"],
  "%a, %d %b %Y",
  "%a %b %d %Y",
  "%A, %B %d, %Y",
  "%m %d, %Y", // the older reviews of Amazon
];
/** These days are ISO 8601 or read like it, unless a clock of twelve hours follows. */
const YEAR_FIRST_DAYS = ["%Y-%m-%d", "%Y/%m/%d"];
const HALF_DAY_CLOCKS = ["%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p"];
const CLOCKS = ["%H:%M", "%H:%M:%S", "%H:%M:%S.%f", ...HALF_DAY_CLOCKS];
const withClocks = (days: readonly string[], clocks: readonly string[]) =>
  days.flatMap((day) => clocks.flatMap((clock) => [`${day} ${clock}`, `${day}, ${clock}`, `${day} ${clock} %z`]));

/** Formats that are recognised. Of two that read a text alike, the first is taken. */
export const TIME_FORMATS: readonly string[] = [
  ...DAYS,
  "%Y.%m.%d",
  ...withClocks([...DAYS, "%Y.%m.%d"], CLOCKS),
  ...withClocks(YEAR_FIRST_DAYS, HALF_DAY_CLOCKS),
  "%a, %d %b %Y %H:%M:%S %Z", // HTTP
  "%d/%b/%Y:%H:%M:%S %z", // logs of web servers
  "%a %b %d %H:%M:%S %Y", // C
  "%a %b %d %H:%M:%S %z %Y", // Ruby, Twitter
  "%a %b %d %H:%M:%S %Z %Y", // date of Unix
  "%b %d, %Y @ %H:%M:%S.%f", // Kibana
  "%Y-%m-%d-%H.%M.%S.%f", // DB2
  "%d-%b-%y %I.%M.%S.%f %p", // Oracle
  "%a %b %d %Y %H:%M:%S GMT%z", // JavaScript
];

/** The name of a zone after its offset, as JavaScript and e-mails have it. */
const COMMENT = "( [(].*[)])?";

const patterns = new Map<string, RegExp>();

/** Texts of this form. Whether the numbers are a day of the calendar is not checked. */
export function formOf(format: string): RegExp {
  const known = patterns.get(format);
  if (known) return known;
  const escaped = format.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  const form = escaped.replaceAll(/%(.)/g, (_, token: string) => TOKENS[token] ?? "");
  const pattern = new RegExp(`^\\s*${form}${format.endsWith("%z") ? COMMENT : ""}\\s*$`);
  patterns.set(format, pattern);
  return pattern;
}

const ISO_DAY = "\\d{4}(-?\\d{1,2}-?\\d{1,2}|/\\d{1,2}/\\d{1,2})";
const ISO_CLOCK = "[T ]\\d{1,2}(:?\\d{2}){0,2}([.,]\\d+)?( ?(Z|UTC|[+-]\\d{2}(:?\\d{2})?))?";
const ISO = new RegExp(`^\\s*${ISO_DAY}(${ISO_CLOCK})?\\s*$`);
const EPOCH_NUMBER = /^\s*[1-9]\d{8,18}(\.\d+)?\s*$/;
/** Smaller numbers are ids: 151603712 would be a second of 1974. */
const SECONDS_OF_1990 = Date.UTC(1990) / 1000;
const DAY_NUMBER = /^(19[7-9]\d|20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/;

/** Whether a value looks like a time: one that is written as such, or a number that an epoch in seconds or finer has nowadays. */
export function looksLikeTime(value: unknown): boolean {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") return false;
  const text = String(value);
  if (EPOCH_NUMBER.test(text)) return Number(text) >= SECONDS_OF_1990;
  if (DAY_NUMBER.test(text) || ISO.test(text)) return true;
  return TIME_FORMATS.some((format) => formOf(format).test(text));
}
