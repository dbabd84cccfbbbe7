import fc from "fast-check";
import { expect, test } from "vitest";
import { idsWithRecords, joinedRecord, type Merge, personIds } from "../../../shared/events/merges.ts";
import type { ItemIndex, UserId } from "../../../shared/ids.ts";

const ids = ["a", "b", "c", "d", "e", "f"] as UserId[];
const merge = fc
  .record({ from: fc.constantFrom(...ids), to: fc.constantFrom(...ids) })
  .filter(({ from, to }) => from !== to);
const merges = fc.array(merge, { maxLength: 8 });
const of = (...pairs: string[]): Merge[] => pairs.map((pair) => ({ from: pair[0] as UserId, to: pair[1] as UserId }));

test("a chain ends at one user, also in a circle and with several ends", () => {
  expect([...personIds(of("ab", "bc")).values()]).toEqual(["c", "c", "c"]);
  expect([...personIds(of("ba", "ab")).values()]).toEqual(["a", "a"]);
  expect(personIds(of("ac", "ab")).get("a" as UserId)).toBe("b");
  expect(personIds([]).size).toBe(0);
});

test("the order and the number of merges do not matter, and connected ids are one person", () => {
  const shuffled = merges.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  const property = fc.property(shuffled, ([list, other]) => {
    const persons = personIds(list);
    expect(new Map([...personIds([...other, ...list])].sort())).toEqual(new Map([...persons].sort()));
    for (const { from, to } of list) expect(persons.get(from)).toBe(persons.get(to));
    for (const person of persons.values()) expect(persons.get(person)).toBe(person);
    const parts = new Map(ids.map((id) => [id, new Set([id])]));
    for (const { from, to } of list) {
      const union = new Set([...parts.get(from)!, ...parts.get(to)!]);
      for (const id of union) parts.set(id, union);
    }
    const connected = new Set([...persons.keys()].map((id) => parts.get(id)!));
    expect(new Set(persons.values()).size).toBe(connected.size);
  });
  fc.assert(property, { numRuns: 300 });
});

test("the id that has the records of a training is read, also if some of what it has learnt is not known", () => {
  const isForward = ({ from, to }: Merge) => from < to; // no circles, which only two calls at the same time can make
  const property = fc.property(merges, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (list, isKnown) => {
    const learnt = list.filter(isForward);
    const known = learnt.filter((_, i) => isKnown[i]);
    const read = idsWithRecords(ids, known);
    for (const person of personIds(learnt).values()) expect(read).toContain(person);
  });
  fc.assert(property, { numRuns: 300 });
  expect(idsWithRecords(ids, of("ab", "bc"))).toEqual(["c", "d", "e", "f"]);
  expect(idsWithRecords(["a", "b"] as UserId[], of("ab", "ba"))).toEqual(["a"]);
});

test("records become one, by time", () => {
  const record = (items: number[], times: number[], values?: number[]) => ({
    items: items as ItemIndex[],
    times,
    ...(values && { values }),
    hasSeen: (item: ItemIndex) => items.includes(item),
  });
  const joined = joinedRecord([record([1, 2], [10, 30]), undefined, record([3], [20], [7])])!;
  expect([joined.items, joined.times, joined.values]).toEqual([[1, 3, 2], [10, 20, 30], [7]]);
  expect([1, 2, 3, 4].map((item) => joined.hasSeen(item as ItemIndex))).toEqual([true, true, true, false]);
  expect(joinedRecord([undefined])).toBeUndefined();
});
