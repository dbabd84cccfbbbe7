/** How sources name the two numbers of a place, in lower case. */
export const LATITUDES: readonly string[] = ["lat", "latitude"];
export const LONGITUDES: readonly string[] = ["lon", "lng", "long", "longitude"];

/** Whether fields of these names are a place's. */
export function arePlaceNames(names: readonly string[]): boolean {
  const hasAny = (wanted: readonly string[]) => names.some((name) => wanted.includes(name.toLowerCase()));
  return hasAny(LATITUDES) && hasAny(LONGITUDES);
}
