/**
 * Many clauses asked at once: whether an item passes any of them, where a clause is an `and` of tests.
 *
 * Idea. Clause i is bit i of a few 32-bit words. The bounds of all tests on a column cut its keys into classes; for each
 * class a row of words says which clauses have no objection to a key there. An item then costs one row per column,
 * joined with AND; it passes when a bit is left. So 128 clauses on two columns are 8 loads, not 256 tests.
 *
 *     clauses  0: color = red and price < 5      1: color = blue      2: price ≥ 9
 *     color    red 101   blue 110   other 100           price    below 5: 011   to 9: 010   from 9: 110
 *     blue, 7  110 & 010 = 010: passes clause 1
 *
 * On a list attribute the rows of an item's keys are joined with OR first, and turned around for "none". A clause with
 * several tests of one list and kind needs a layer of rows for each.
 */
import type { ItemIndex } from "./ids.ts";
import { type MatchColumn, MISSING_KEY } from "./match-column.ts";
import type { KeyTest } from "./match-node.ts";

/** One row of words per class of a column's keys: the clauses whose test on this column such a key passes. */
type Layer = {
  readonly kind: KeyTest["kind"];
  readonly column: MatchColumn;
  readonly tests: Map<number, KeyTest>; // by clause
};

type Rows = {
  /** Fills `into` with the clauses that have no objection to the item; ANDs with what is there. */
  restrict(item: ItemIndex, into: Uint32Array): void;
};

/** Whether an item passes any clause. */
export function clauseTable(clauses: readonly (readonly KeyTest[])[]): (item: ItemIndex) => boolean {
  const words = Math.ceil(clauses.length / 32);
  const rows = layersOf(clauses).map((layer) => rowsOf(layer, clauses.length));
  const all = new Uint32Array(words);
  for (let clause = 0; clause < clauses.length; clause++) setBit(all, clause);
  const left = new Uint32Array(words); // clauses that the item still passes
  return (item) => {
    left.set(all);
    for (let i = 0; i < rows.length; i++) rows[i]!.restrict(item, left);
    for (let word = 0; word < words; word++) if (left[word] !== 0) return true;
    return false;
  };
}

/** The tests by column and kind; a second test of a clause on the same column goes to a second layer. */
function layersOf(clauses: readonly (readonly KeyTest[])[]): Layer[] {
  const layers = new Map<string, Layer>();
  for (const [clause, tests] of clauses.entries()) {
    const taken = new Map<string, number>();
    for (const test of tests) {
      const name = `${test.kind} ${test.column.name}`;
      const depth = taken.get(name) ?? 0;
      taken.set(name, depth + 1);
      const key = `${depth} ${name}`;
      const layer = layers.get(key) ?? { kind: test.kind, column: test.column, tests: new Map<number, KeyTest>() };
      layer.tests.set(clause, test);
      layers.set(key, layer);
    }
  }
  return [...layers.values()];
}

function rowsOf({ kind, column, tests }: Layer, clauseCount: number): Rows {
  const words = Math.ceil(clauseCount / 32);
  const bounds = [...new Set([...tests.values()].flatMap((test) => test.keys))].sort((a, b) => a - b);
  const classOf = new Map(bounds.map((bound, i) => [bound, i + 1]));
  // rows[class * words + word]; bit i of the row: the keys of the class are in the set of clause i's test
  const rows = new Uint32Array((bounds.length + 1) * words);
  for (const [clause, { keys }] of tests)
    for (let i = 0; i < keys.length; i += 2)
      for (let at = classOf.get(keys[i]!)!; at < classOf.get(keys[i + 1]!)!; at++)
        setBit(rows, at * words * 32 + clause);
  const untested = new Uint32Array(words); // clauses without a test here, which never object
  for (let clause = 0; clause < clauseCount; clause++) if (!tests.has(clause)) setBit(untested, clause);
  const classAt = column.classifier(bounds);
  if (column.start === undefined)
    return {
      restrict(item, into) {
        const row = classAt(item) * words;
        for (let word = 0; word < words; word++) into[word]! &= rows[row + word]! | untested[word]!;
      },
    };
  const { start } = column;
  const isSome = kind === "some";
  const missing = bounds.filter((bound) => bound <= MISSING_KEY).length * words;
  return {
    restrict(item, into) {
      const end = start[item + 1]!;
      for (let word = 0; word < words; word++) {
        let found = start[item] === end ? rows[missing + word]! : 0;
        for (let at = start[item]!; at < end; at++) found |= rows[classAt(at) * words + word]!;
        into[word]! &= (isSome ? found : ~found) | untested[word]!;
      }
    },
  };
}

function setBit(words: Uint32Array, bit: number): void {
  words[bit >>> 5]! |= 1 << (bit & 31);
}
