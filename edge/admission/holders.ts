/**
 * Whose keys have been valid of late, before a key is checked: by a few of its characters, enough to tell keys apart and too
 * few to be one. Good for nothing but to know whose work is ahead of a call.
 */
export type Holders = {
  note(apiKey: string, holder: string): void;
  /** "" for a key that has not been valid of late. */
  of(apiKey: string | undefined): string;
};

const CHARACTERS = 8;

export function createHolders(keysMax: number): Holders {
  const known = new Map<string, string>(); // least recently noted first
  const labelOf = (apiKey: string) => apiKey.slice(-CHARACTERS);
  return {
    note(apiKey, holder) {
      const label = labelOf(apiKey);
      known.delete(label);
      known.set(label, holder);
      if (known.size > keysMax) known.delete(known.keys().next().value!);
    },
    of: (apiKey) => (apiKey === undefined ? "" : (known.get(labelOf(apiKey)) ?? "")),
  };
}
