/** How sources name the two numbers of a place, in lower case. */
export const LATITUDES: readonly string[] = ["lat", "latitude"];
export const LONGITUDES: readonly string[] = ["lon", "lng", "long", "longitude"];
