/** Numbers from here on are milliseconds: in seconds this is the year 5138, in milliseconds 1973. */
export const MILLISECONDS_FROM = 1e11;

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:([Zz])|([+-])(\d\d):(\d\d)))?$/;

/** Converts epoch seconds or epoch milliseconds to epoch seconds. */
export const epochSecondsOf = (value: number): number => (Math.abs(value) >= MILLISECONDS_FROM ? value / 1000 : value);

/**
 * Epoch seconds of an RFC 3339 time with its zone, such as `2024-05-01T12:00:00Z`, or of a date alone, which means midnight UTC.
 * Undefined for other text and for dates that do not exist. A leap second counts as the second after it.
 */
export function epochSecondsIn(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day); // Date.UTC would read the years 0 to 99 as 1900 to 1999
  if (midnight.getUTCMonth() !== month - 1) return undefined; // also catches days that the month does not have
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const offset = zoneSeconds(match);
  if (offset === undefined) return undefined;
  return midnight.getTime() / 1000 + hour * 3600 + minute * 60 + second + Number(match[7] ?? 0) - offset;
}

/** Seconds by which the zone in the text is ahead of UTC. */
function zoneSeconds(match: RegExpExecArray): number | undefined {
  const [sign, hours, minutes] = [match[9], Number(match[10] ?? 0), Number(match[11] ?? 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}
