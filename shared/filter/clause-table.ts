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
 *
 * Where one item after another is asked for, the next ones are asked together, column by column, which is quicker.
 */
import type { ItemIndex } from "../ids.ts";
import { type Classifier, type KeyColumn, LIST_NS, MISSING_KEY } from "./key-column.ts";
import { rangesOf } from "./key-set.ts";
import type { KeyTest } from "./key-tree.ts";

/** Tests of different clauses on one column, of one kind. */
type Layer = {
  readonly kind: KeyTest["kind"];
  readonly column: KeyColumn;
  readonly tests: Map<number, KeyTest>; // by clause
};

/** Items that are asked together. */
type Block = {
  readonly from: ItemIndex;
  readonly size: number;
  /** [place * words + word]; the clauses that the item at a place still passes. */
  readonly left: Uint32Array;
  /** The first `count` of these are the places of items with clauses left. */
  readonly places: Uint16Array;
  count: number;
};

/** A layer that items can be asked against. */
type Sieve = {
  /**
   * Takes from `left` the clauses that the item fails in this layer.
   * @returns 0 if no clause is left.
   */
  restrict(item: ItemIndex, left: Uint32Array): number;
  /** The same for the items of a block. */
  restrictAll(block: Block): void;
  /** Estimated nanoseconds for the item, asked in a block. */
  nsAt(item: ItemIndex): number;
};

export type ClauseTable = {
  /** Whether an item passes any clause. Quickest for rising items. */
  isMatch(item: ItemIndex): boolean;
  /** Estimated nanoseconds of asking every item, from a sample of them. */
  totalNs(): number;
};

/** Of an item and of a word of a row; in Node.js 24 on an AMD EPYC. */
const NS = { item: 10, word: 2.5 };
const SAMPLE = 256;
const BLOCK_ITEMS = 512;
/** After so many items in a row, blocks are worth their while. */
const ROW_LEAST = 16;

export function clauseTable(clauses: readonly (readonly KeyTest[])[], itemCount: number): ClauseTable {
  const words = Math.ceil(clauses.length / 32);
  // Of lists, whose sieves take longer, only what the others have let through is asked.
  const layers = layersOf(clauses).sort((a, b) => Number(isList(a)) - Number(isList(b)));
  const sieves = layers.map((layer) => sieveOf(layer, clauses.length));
  const all = bitsOf(clauses.keys(), words);
  const left = new Uint32Array(words); // clauses that the item still passes
  const isMatch = (item: ItemIndex) => {
    left.set(all);
    for (let i = 0; i < sieves.length; i++) if (sieves[i]!.restrict(item, left) === 0) return false;
    return words > 0;
  };
  const nsAt = (item: ItemIndex) => {
    left.set(all);
    let ns = NS.item + NS.word * words;
    for (const sieve of sieves) {
      ns += sieve.nsAt(item);
      if (sieve.restrict(item, left) === 0) break;
    }
    return ns;
  };
  return {
    isMatch: inBlocks({ isMatch, sieves, all, itemCount }),
    totalNs: () => itemCount * meanOver(itemCount, nsAt),
  };
}

/** Of a sample of the items, evenly spread; 0 of none. */
export function meanOver(itemCount: number, valueAt: (item: ItemIndex) => number): number {
  const count = Math.min(SAMPLE, itemCount);
  let sum = 0;
  for (let i = 0; i < count; i++) sum += valueAt(Math.floor((i * itemCount) / count) as ItemIndex);
  return count === 0 ? 0 : sum / count;
}

const isList = ({ column }: Layer) => column.start !== undefined;

type Asked = {
  readonly isMatch: (item: ItemIndex) => boolean;
  readonly sieves: readonly Sieve[];
  readonly all: Uint32Array;
  readonly itemCount: number;
};

/** The same question, asked for many items together once it is asked for one after another. */
function inBlocks({ isMatch, sieves, all, itemCount }: Asked): ClauseTable["isMatch"] {
  const words = all.length;
  if (words === 0 || sieves.length === 0) return isMatch;
  let passes: Uint8Array | undefined;
  let full: Uint32Array | undefined; // `all` for every place
  let left: Uint32Array | undefined;
  let places: Uint16Array | undefined;
  let [from, to, next, row] = [0, 0, 0, 0];
  const askBlock = (first: ItemIndex) => {
    full ??= Uint32Array.from({ length: BLOCK_ITEMS * words }, (_, i) => all[i % words]!);
    left ??= new Uint32Array(BLOCK_ITEMS * words);
    places ??= new Uint16Array(BLOCK_ITEMS);
    passes ??= new Uint8Array(BLOCK_ITEMS);
    [from, to] = [first, Math.min(itemCount, first + BLOCK_ITEMS)];
    const size = to - from;
    left.set(full);
    for (let place = 0; place < size; place++) places[place] = place;
    const block: Block = { from: first, size, left, places, count: size };
    for (let i = 0; i < sieves.length && block.count > 0; i++) sieves[i]!.restrictAll(block);
    passes.fill(0);
    for (let i = 0; i < block.count; i++) passes[places[i]!] = 1;
  };
  return (item) => {
    if (item >= from && item < to) return passes![item - from] === 1;
    row = item === next ? row + 1 : 0;
    next = item + 1;
    if (row < ROW_LEAST) return isMatch(item);
    askBlock(item);
    next = to;
    return passes![0] === 1;
  };
}

/** Tests by column and kind; a second test of a clause on the same column goes to a second layer. */
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

function sieveOf(layer: Layer, clauseCount: number): Sieve {
  const { column, tests, kind } = layer;
  const words = Math.ceil(clauseCount / 32);
  const bounds = [...new Set([...tests.values()].flatMap((test) => test.keys))].sort((a, b) => a - b);
  const rows = rowsOf(tests, bounds, words);
  const others = Array.from({ length: clauseCount }, (_, clause) => clause).filter((clause) => !tests.has(clause));
  const untested = bitsOf(others, words); // clauses without a test here, which never object
  const classifier = column.classifier(bounds);
  if (column.start === undefined) {
    for (let at = 0; at < rows.length; at++) rows[at]! |= untested[at % words]!;
    return words === 1 ? wordSieve(classifier, rows) : plainSieve(classifier, rows, words);
  }
  const missing = bounds.filter((bound) => bound <= MISSING_KEY).length * words;
  return listSieve({ start: column.start, classifier, rows, missing, untested, isNone: kind === "none" });
}

/** Of a column with one key per item. Its loops are written out: called for each item, they would take twice as long. */
function plainSieve({ classAt, classify, nsAt }: Classifier, rows: Uint32Array, words: number): Sieve {
  const classes = new Uint32Array(BLOCK_ITEMS);
  return {
    restrict(item, left) {
      const row = classAt(item) * words;
      let any = 0;
      for (let word = 0; word < words; word++) any |= left[word]! &= rows[row + word]!;
      return any;
    },
    restrictAll(block) {
      const { from, size, left, places } = block;
      classify(from, from + size, classes);
      let kept = 0;
      for (let i = 0; i < block.count; i++) {
        const place = places[i]!;
        const [own, row] = [place * words, classes[place]! * words];
        let any = 0;
        for (let word = 0; word < words; word++) any |= left[own + word]! &= rows[row + word]!;
        if (any !== 0) places[kept++] = place;
      }
      block.count = kept;
    },
    nsAt: (item) => nsAt(item) + NS.word * words,
  };
}

/** The same where rows are single words, in half the time. */
function wordSieve({ classAt, classify, nsAt }: Classifier, rows: Uint32Array): Sieve {
  const classes = new Uint32Array(BLOCK_ITEMS);
  return {
    restrict: (item, left) => (left[0]! &= rows[classAt(item)]!),
    restrictAll(block) {
      const { from, size, left, places } = block;
      classify(from, from + size, classes);
      let kept = 0;
      for (let i = 0; i < block.count; i++) {
        const place = places[i]!;
        const word = left[place]! & rows[classes[place]!]!;
        left[place] = word;
        if (word !== 0) places[kept++] = place;
      }
      block.count = kept;
    },
    nsAt: (item) => nsAt(item) + NS.word,
  };
}

type ListRows = {
  /** Item i's keys are at start[i] … start[i + 1] − 1. */
  readonly start: Uint32Array;
  readonly classifier: Classifier;
  readonly rows: Uint32Array;
  /** Where the row of a missing list begins. */
  readonly missing: number;
  /** Clauses that never object. */
  readonly untested: Uint32Array;
  readonly isNone: boolean;
};

function listSieve({ start, classifier, rows, missing, untested, isNone }: ListRows): Sieve {
  const words = untested.length;
  const { classAt } = classifier;
  const found = new Uint32Array(words); // clauses that some key of the item passes
  const restrictAt = (item: number, left: Uint32Array, own: number) => {
    const end = start[item + 1]!;
    for (let word = 0; word < words; word++) found[word] = start[item] === end ? rows[missing + word]! : 0;
    for (let at = start[item]!; at < end; at++) {
      const row = classAt(at) * words;
      for (let word = 0; word < words; word++) found[word]! |= rows[row + word]!;
    }
    let any = 0;
    for (let word = 0; word < words; word++) {
      const passed = isNone ? ~found[word]! : found[word]!;
      any |= left[own + word]! &= passed | untested[word]!;
    }
    return any;
  };
  return {
    restrict: (item, left) => restrictAt(item, left, 0),
    restrictAll(block) {
      const { from, left, places } = block;
      let kept = 0;
      for (let i = 0; i < block.count; i++) {
        const place = places[i]!;
        if (restrictAt(from + place, left, place * words) !== 0) places[kept++] = place;
      }
      block.count = kept;
    },
    nsAt(item) {
      let ns = LIST_NS + 2 * NS.word * words;
      for (let at = start[item]!; at < start[item + 1]!; at++) ns += classifier.nsAt(at) + NS.word * words;
      return ns;
    },
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
