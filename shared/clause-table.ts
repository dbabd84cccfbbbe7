/**
 * Many clauses asked at once: whether an item passes any of them, where a clause is an `and` of tests.
 *
 * Idea. Clause i is bit i of a few 32-bit words. The bounds of all tests on a column cut its keys into classes; for
 * each class a row of words says which clauses have no objection to a key there. An item then costs one row per column,
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
import { rangesOf } from "./key-set.ts";
import { type MatchColumn, MISSING_KEY } from "./match-column.ts";
import type { KeyTest } from "./match-node.ts";

/** Tests of different clauses on one column, of one kind. */
type Layer = {
  readonly kind: KeyTest["kind"];
  readonly column: MatchColumn;
  readonly tests: Map<number, KeyTest>; // by clause
};

/**
 * Takes from `left` the clauses that the item fails in this layer.
 * @returns 0 if no clause is left.
 */
type Restrict = (item: ItemIndex, left: Uint32Array) => number;

/** Whether an item passes any clause. */
export function clauseTable(clauses: readonly (readonly KeyTest[])[]): (item: ItemIndex) => boolean {
  const words = Math.ceil(clauses.length / 32);
  const restricts = layersOf(clauses).map((layer) => restrictOf(layer, clauses.length));
  const all = bitsOf(clauses.keys(), words);
  const left = new Uint32Array(words); // clauses that the item still passes
  return (item) => {
    for (let word = 0; word < words; word++) left[word] = all[word]!;
    for (let i = 0; i < restricts.length; i++) if (restricts[i]!(item, left) === 0) return false;
    return words > 0;
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

function restrictOf(layer: Layer, clauseCount: number): Restrict {
  const { column, tests, kind } = layer;
  const words = Math.ceil(clauseCount / 32);
  const bounds = [...new Set([...tests.values()].flatMap((test) => test.keys))].sort((a, b) => a - b);
  const rows = rowsOf(tests, bounds, words);
  const others = Array.from({ length: clauseCount }, (_, clause) => clause).filter((clause) => !tests.has(clause));
  const untested = bitsOf(others, words); // clauses without a test here, which never object
  const classAt = column.classifier(bounds);
  if (column.start === undefined) {
    for (let at = 0; at < rows.length; at++) rows[at]! |= untested[at % words]!;
    return (item, left) => {
      const row = classAt(item) * words;
      let any = 0;
      for (let word = 0; word < words; word++) any |= left[word]! &= rows[row + word]!;
      return any;
    };
  }
  const { start } = column;
  const missing = bounds.filter((bound) => bound <= MISSING_KEY).length * words;
  const found = new Uint32Array(words); // clauses that some key of the item passes
  return (item, left) => {
    const end = start[item + 1]!;
    for (let word = 0; word < words; word++) found[word] = start[item] === end ? rows[missing + word]! : 0;
    for (let at = start[item]!; at < end; at++) {
      const row = classAt(at) * words;
      for (let word = 0; word < words; word++) found[word]! |= rows[row + word]!;
    }
    let any = 0;
    for (let word = 0; word < words; word++) {
      const passed = kind === "some" ? found[word]! : ~found[word]!;
      any |= left[word]! &= passed | untested[word]!;
    }
    return any;
  };
}

/** [class * words + word]; bit i of a class: its keys are in the set of clause i's test. */
function rowsOf(tests: ReadonlyMap<number, KeyTest>, bounds: readonly number[], words: number): Uint32Array {
  const classFrom = new Map(bounds.map((bound, i) => [bound, i + 1]));
  const rows = new Uint32Array((bounds.length + 1) * words);
  for (const [clause, { keys }] of tests)
    for (const [from, to] of rangesOf(keys))
      for (let at = classFrom.get(from)!; at < classFrom.get(to)!; at++)
        rows[at * words + (clause >>> 5)]! |= 1 << (clause & 31);
  return rows;
}

function bitsOf(clauses: Iterable<number>, words: number): Uint32Array {
  const bits = new Uint32Array(words);
  for (const clause of clauses) bits[clause >>> 5]! |= 1 << (clause & 31);
  return bits;
}
