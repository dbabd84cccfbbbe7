/**
 * Tests items against many clauses at once. A clause is a list of tests that must all hold; an item matches if it passes any clause.
 *
 * Clause i is bit i of a few 32-bit words. The bounds of all tests on a column divide the column's keys into classes. For each class, a
 * row of words says which clauses a key of that class can still pass. An item takes one row per column; the rows are joined with AND, and
 * the item matches if a bit is left. So 128 clauses on two columns are 8 loads instead of 256 tests.
 *
 *     clauses  0: color = red and price < 5      1: color = blue      2: price ≥ 9
 *     color    red 101   blue 110   other 100           price    below 5: 011   to 9: 010   from 9: 110
 *     blue, 7  110 & 010 = 010: passes clause 1
 *
 * On a list attribute, the rows of an item's keys are joined with OR first, and inverted for tests of kind `none`. If a clause has
 * several tests on one list, each needs a layer of rows of its own.
 */
import type { ItemIndex } from "../ids.ts";
import type { KeyClassifier } from "./key-classifier.ts";
import { type KeyColumn, MISSING_KEY } from "./key-column.ts";
import { rangesOf } from "./key-set.ts";
import type { Clause, KeyTest } from "./key-tree.ts";

export type ClauseTable = {
  /** Whether an item passes any clause. */
  isMatch(item: ItemIndex): boolean;
  /** Estimated nanoseconds for the whole catalog, from a sample of its items. */
  estimateTotalNs(): number;
};

/** Tests of one kind on one column, at most one per clause. */
type Layer = {
  readonly kind: KeyTest["kind"];
  readonly column: KeyColumn;
  readonly tests: Map<number, KeyTest>; // by clause
};

/** A layer, ready to test items. */
type LayerTester = {
  /** Clears the bits of the clauses that the item fails. Returns 0 if no clause is left. */
  restrict(item: ItemIndex, left: Uint32Array): number;
  /** Estimated nanoseconds for the item. */
  nsAt(item: ItemIndex): number;
};

/** Nanoseconds per item and per word of a row, measured in Node.js 24 on an AMD EPYC. */
const NS = { item: 10, word: 2.5 };
/** Nanoseconds per item for a list, in addition to those of its keys. */
export const LIST_NS = 12;
const SAMPLE_SIZE = 256;

export function clauseTable(clauses: readonly Clause[], itemCount: number): ClauseTable {
  const words = Math.ceil(clauses.length / 32);
  // Lists are slower, so they come last and see only the items that passed the other layers.
  const layers = layersOf(clauses).sort((a, b) => Number(isList(a)) - Number(isList(b)));
  const testers = layers.map((layer) => layerTester(layer, clauses.length));
  const all = bitsOf(clauses.keys(), words);
  const left = new Uint32Array(words); // clauses that the item can still pass
  const isMatch = (item: ItemIndex) => {
    left.set(all);
    for (let i = 0; i < testers.length; i++) if (testers[i]!.restrict(item, left) === 0) return false;
    return words > 0;
  };
  const nsAt = (item: ItemIndex) => {
    left.set(all);
    let ns = NS.item + NS.word * words;
    for (const tester of testers) {
      ns += tester.nsAt(item);
      if (tester.restrict(item, left) === 0) break;
    }
    return ns;
  };
  return { isMatch, estimateTotalNs: () => itemCount * meanOver(itemCount, nsAt) };
}

/** The mean over an evenly spaced sample of the items; 0 if there are none. */
export function meanOver(itemCount: number, valueAt: (item: ItemIndex) => number): number {
  const count = Math.min(SAMPLE_SIZE, itemCount);
  let sum = 0;
  for (let i = 0; i < count; i++) sum += valueAt(Math.floor((i * itemCount) / count) as ItemIndex);
  return count === 0 ? 0 : sum / count;
}

const isList = ({ column }: Layer) => column.start !== undefined;

/** Groups tests by column and kind. A clause's second test on the same list goes to a second layer. */
function layersOf(clauses: readonly Clause[]): Layer[] {
  const layers = new Map<string, Layer>();
  for (const [clause, tests] of clauses.entries()) {
    const depths = new Map<string, number>();
    for (const test of tests) {
      const name = `${test.kind} ${test.column.name}`;
      const depth = depths.get(name) ?? 0;
      depths.set(name, depth + 1);
      const key = `${depth} ${name}`;
      const layer = layers.get(key) ?? { kind: test.kind, column: test.column, tests: new Map<number, KeyTest>() };
      layer.tests.set(clause, test);
      layers.set(key, layer);
    }
  }
  return [...layers.values()];
}

function layerTester(layer: Layer, clauseCount: number): LayerTester {
  const { column, tests, kind } = layer;
  const words = Math.ceil(clauseCount / 32);
  const bounds = [...new Set([...tests.values()].flatMap((test) => test.keys))].sort((a, b) => a - b);
  const rows = rowsOf(tests, bounds, words);
  const others = Array.from({ length: clauseCount }, (_, clause) => clause).filter((clause) => !tests.has(clause));
  const untested = bitsOf(others, words); // clauses without a test in this layer, which every item passes here
  const classifier = column.classifier(bounds);
  if (column.start === undefined) {
    for (let at = 0; at < rows.length; at++) rows[at]! |= untested[at % words]!;
    return words === 1 ? singleWordTester(classifier, rows) : multiWordTester(classifier, rows, words);
  }
  const missing = bounds.filter((bound) => bound <= MISSING_KEY).length * words;
  return listTester({ start: column.start, classifier, rows, missing, untested, isNone: kind === "none" });
}

/** For a column with one key per item and any number of clauses. */
function multiWordTester({ classAt, nsAt }: KeyClassifier, rows: Uint32Array, words: number): LayerTester {
  return {
    restrict(item, left) {
      const row = classAt(item) * words;
      let any = 0;
      for (let word = 0; word < words; word++) any |= left[word]! &= rows[row + word]!;
      return any;
    },
    nsAt: (item) => nsAt(item) + NS.word * words,
  };
}

/** For a column with one key per item and at most 32 clauses: half the time of the general case. */
function singleWordTester({ classAt, nsAt }: KeyClassifier, rows: Uint32Array): LayerTester {
  return {
    restrict: (item, left) => (left[0]! &= rows[classAt(item)]!),
    nsAt: (item) => nsAt(item) + NS.word,
  };
}

type ListLayer = {
  /** [itemCount + 1] Item i's keys are at start[i] … start[i + 1] − 1. */
  readonly start: Uint32Array;
  readonly classifier: KeyClassifier;
  readonly rows: Uint32Array;
  /** Where the row of an empty list begins. */
  readonly missing: number;
  /** Bits of the clauses without a test in this layer. */
  readonly untested: Uint32Array;
  readonly isNone: boolean;
};

function listTester({ start, classifier, rows, missing, untested, isNone }: ListLayer): LayerTester {
  const words = untested.length;
  const { classAt } = classifier;
  const found = new Uint32Array(words); // clauses whose key set contains some key of the item
  return {
    restrict(item, left) {
      const end = start[item + 1]!;
      for (let word = 0; word < words; word++) found[word] = start[item] === end ? rows[missing + word]! : 0;
      for (let at = start[item]!; at < end; at++) {
        const row = classAt(at) * words;
        for (let word = 0; word < words; word++) found[word]! |= rows[row + word]!;
      }
      let any = 0;
      for (let word = 0; word < words; word++) {
        const passed = isNone ? ~found[word]! : found[word]!;
        any |= left[word]! &= passed | untested[word]!;
      }
      return any;
    },
    nsAt(item) {
      let ns = LIST_NS + 2 * NS.word * words;
      for (let at = start[item]!; at < start[item + 1]!; at++) ns += classifier.nsAt(at) + NS.word * words;
      return ns;
    },
  };
}

/** [class * words + word] Bit i of a class says that its keys are in the key set of clause i's test. */
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
