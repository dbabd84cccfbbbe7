/** Finds the words of a search in UTF-8 text, whatever their case. */
import { utf8Of } from "../packed-strings.ts";
import { problemOf } from "../parse-request.ts";

/** Words are bits of one byte. */
export const WORDS_MAX = 8;

/**
 * Comparisons of a letter, over all texts of a search. Ordinary texts need some millions; texts that repeat one letter need one for each
 * letter of the longest word and each byte, which would take seconds.
 */
const COMPARISONS_MAX = 20_000_000;

const TOO_SLOW = "takes too long on this catalog: use fewer or shorter words";

export type Words = {
  /** Bit w: word w. */
  readonly all: number;
  /** The bits of the words that the text has: `bytes` from `start` up to `end`. Throws Problem invalid_parameter. */
  found(bytes: Uint8Array, start: number, end: number): number;
};

/** A character as UTF-8, in lower and in upper case. */
type Character = readonly Uint8Array[];

/** The distinct words of a search, without regard to case. */
export const wordsOf = (search: string): string[] => [...new Set(search.toLowerCase().split(/\s+/u))].filter(Boolean);

/** @param words At most WORDS_MAX, not empty. */
export function compileWords(words: readonly string[]): Words {
  const compiled = words.map((word) => Array.from(word, formsOf));
  // By byte: the words whose first or second byte it can be. Few places of a text pass both, so few are compared in full.
  const [first, second] = [new Uint8Array(256), new Uint8Array(256)];
  for (const [w, characters] of compiled.entries())
    for (const [start, next] of beginningsOf(characters)) {
      first[start]! |= 1 << w;
      if (next === undefined) for (let byte = 0; byte < 256; byte++) second[byte]! |= 1 << w;
      else second[next]! |= 1 << w;
    }
  let comparisons = 0;

  const endOf = (form: Uint8Array, bytes: Uint8Array, at: number, end: number): number => {
    if (at + form.length > end) return -1;
    for (let i = 0; i < form.length; i++) if (bytes[at + i] !== form[i]) return -1;
    return at + form.length;
  };
  const isAt = (characters: readonly Character[], bytes: Uint8Array, start: number, end: number): boolean => {
    let at = start;
    for (let c = 0; c < characters.length; c++) {
      const forms = characters[c]!;
      comparisons++;
      let next = -1;
      for (let i = 0; i < forms.length && next < 0; i++) next = endOf(forms[i]!, bytes, at, end);
      if (next < 0) return false;
      at = next;
    }
    return true;
  };
  const all = 2 ** words.length - 1;
  return {
    all,
    found(bytes, start, end) {
      let found = 0;
      for (let at = start; at < end; at++) {
        let candidates = first[bytes[at]!]!;
        if (candidates === 0) continue;
        candidates &= second[bytes[at + 1] ?? 0]! & ~found;
        for (let w = 0; candidates !== 0; w++, candidates >>>= 1)
          if ((candidates & 1) !== 0 && isAt(compiled[w]!, bytes, at, end)) found |= 1 << w;
      }
      if (comparisons > COMPARISONS_MAX)
        throw problemOf([{ pointer: "/search", code: "invalid_parameter", message: TOO_SLOW }]);
      return found;
    },
  };
}

/** The first two bytes that a word can have. The second is undefined for a word of one byte. */
const beginningsOf = ([first, next]: readonly Character[]): [number, number | undefined][] =>
  first!.flatMap((form): [number, number | undefined][] => {
    if (form.length > 1 || next === undefined) return [[form[0]!, form[1]]];
    return next.map((following) => [form[0]!, following[0]]);
  });

/** Some capital letters have more bytes than the small ones, or are two letters. */
const formsOf = (character: string): Character =>
  [...new Set([character.toLowerCase(), character.toUpperCase()])].map(utf8Of);
