/**
 * An attribute of places as the filter compiler sees it. The tests of one circle are on a column of their own, whose keys say where an
 * item is: outside or inside the circle. So circles join other tests, and are negated, like any set of keys.
 */
import { circleTester, NO_PLACE, type Places } from "../place.ts";
import { classifierBy } from "./key-classifier.ts";
import { type KeyColumn, MISSING_KEY, typeMismatch } from "./key-column.ts";
import { type KeySet, NO_KEYS, union } from "./key-set.ts";
import type { FilterTest, NearTest } from "./parse-filter.ts";

const OUTSIDE_KEY = 1;
const INSIDE_KEY = 2;
const MISSING: KeySet = [MISSING_KEY, OUTSIDE_KEY];
const EXPECTED = 'null, or a circle: {"$near": {"lat": 52.5, "lon": 13.4, "km": 10}}';

/** Nanoseconds per item, measured in Node.js 20 on an AMD EPYC. */
const NS = { nearEdge: 45, elsewhere: 9 };

/** The name of a test's column: tests of one circle share it. No attribute has such a name. */
export const circleName = ({ attribute, lat, lon, km }: NearTest): string => `${attribute}\0${lat},${lon},${km}`;

/** @param near The test, if it is one of a circle. */
export function locationColumn(name: string, places: Places, near?: NearTest): KeyColumn {
  const { lat } = places;
  const circle = near && circleTester(places, near);
  const keyAt = (item: number): number => {
    if (lat[item] === NO_PLACE) return MISSING_KEY;
    return circle?.isInside(item) ? INSIDE_KEY : OUTSIDE_KEY;
  };
  return {
    name: near ? circleName(near) : name,
    start: undefined,
    keysOf(test: FilterTest): KeySet {
      if (test.kind === "near") return [INSIDE_KEY, INSIDE_KEY + 1];
      const values = test.kind === "compare" ? [test.value] : test.values;
      const sets = values.map((value, i): KeySet => {
        if (value === null) return MISSING;
        if (Number.isNaN(value)) return NO_KEYS;
        throw typeMismatch(test, value, { expected: EXPECTED, i });
      });
      return union(sets);
    },
    classifier(bounds) {
      const classes = [MISSING_KEY, OUTSIDE_KEY, INSIDE_KEY].map(
        (key) => bounds.filter((bound) => bound <= key).length,
      );
      const [ofMissing, ofOutside, ofInside] = classes.map((number) => (number & 1) === 1);
      return classifierBy((item) => classes[keyAt(item)]!, {
        isInside(item) {
          if (lat[item] === NO_PLACE) return ofMissing!;
          return circle?.isInside(item) ? ofInside! : ofOutside!;
        },
        nsAt: (item) => (circle?.isNearEdge(item) ? NS.nearEdge : NS.elsewhere),
      });
    },
  };
}
