import { expect, test } from "vitest";
import { ATTRIBUTE_VALUES_MAX } from "../../../../shared/evaluation-report.ts";
import {
  attributeColumn,
  itemGroups,
  itemSegments,
  userGroups,
  userSegments,
} from "../../../../trainer/choose/report/attribute-segments.ts";
import type { EvaluationDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { metricsOf, ownersOf } from "../../../../trainer/choose/report/measured-lists.ts";
import { SMALL_DETAIL as detail } from "../../../fixtures/small-detail.ts";

type About = { readonly of: "users" | "items"; readonly seed: number };

function attributeSegments(from: EvaluationDetail, attribute: string, { of, seed }: About) {
  const column = attributeColumn(from, attribute, of);
  const everybody = Uint32Array.from(from.users.keys());
  const owned = { detail: from, owners: ownersOf(from, everybody), seed };
  const { groups, furtherValues } = of === "items" ? itemGroups(from, column) : userGroups(column);
  if (of === "items") return { segments: itemSegments(owned, groups), furtherValues };
  const worth = (lists: Int32Array) => metricsOf(from, lists, everybody);
  const figures = { chosen: worth(from.chosen), popularity: worth(from.popularity) };
  return { segments: userSegments(owned, groups, figures), furtherValues };
}

test("items have a segment for each value: its recall among users who chose it, and its places", () => {
  const { segments, furtherValues } = attributeSegments(detail, "genres", { of: "items", seed: 1 });
  expect(furtherValues).toBe(0);
  const [drama, comedy] = segments;
  expect(drama).toMatchObject({ name: "drama", users: 2, items: 2, share_shown: 3 / 5 }); // a, c, c of five places
  expect(drama!.chosen["recall@1"]!.value).toBe(0.75); // Ann one of two, 7 one of one
  expect(comedy).toMatchObject({ name: "comedy", users: 3, items: 2, share_shown: 3 / 5 });
  expect(comedy!.chosen["recall@2"]!.value).toBe(1);
  expect(comedy!.popularity["recall@2"]!.value).toBe(1 / 3);
});

test("users without a value are in no segment", () => {
  const { segments } = attributeSegments(detail, "member", { of: "users", seed: 1 });
  expect(segments.map(({ name, users, items }) => [name, users, items])).toEqual([
    ["true", 1, null],
    ["false", 1, null],
  ]);
  expect(segments[0]!.popularity["recall@2"]!.value).toBe(0.5);
});

test("numbers go in quarters, times as dates", () => {
  const values = Float64Array.from({ length: 3 }, (_, i) => [5, 1, 3][i]!);
  const numbers = { ...detail, userColumns: [{ name: "n", type: "Numerical" as const, values }] };
  const { segments } = attributeSegments(numbers, "n", { of: "users", seed: 1 });
  expect(segments.map(({ name }) => name).sort()).toEqual(["1 to 1", "3 to 3", "5 to 5"]);
  const times = { ...detail, userColumns: [{ name: "t", type: "Timestamp" as const, values: new Float64Array(3) }] };
  expect(
    attributeSegments(times, "t", { of: "users", seed: 1 }).segments.map(({ name, users }) => [name, users]),
  ).toEqual([["1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.000Z", 3]]);
});

test("numbers that name categories are a segment each", () => {
  const namesOf = (name: string) => {
    const column = { name, type: "Numerical" as const, values: Float64Array.of(5, 5, Number.NaN) };
    const of = { of: "users", seed: 1 } as const;
    return attributeSegments({ ...detail, userColumns: [column] }, name, of).segments.map((segment) => segment.name);
  };
  expect([namesOf("plan_id"), namesOf("age")]).toEqual([["5"], ["5 to 5"]]);
});

test("a time that no date can be is its number", () => {
  const values = Float64Array.of(-1e15, 0, 8.64e12 + 1);
  const times = { ...detail, userColumns: [{ name: "t", type: "Timestamp" as const, values }] };
  const names = attributeSegments(times, "t", { of: "users", seed: 1 }).segments.map(
    ({ name }) => name.split(" to ")[0],
  );
  expect(names.sort()).toEqual(["-1000000000000000", "1970-01-01T00:00:00.000Z", "8640000000001"]);
});

test("only the most frequent values are segments, with the number of further values", () => {
  const start = Uint32Array.of(0, 60, 61, 62);
  const codes = Uint32Array.from({ length: 62 }, (_, i) => Math.min(i, 59));
  const dictionary = Array.from({ length: 60 }, (_, i) => `v${i}`);
  const many = { ...detail, userColumns: [{ name: "tags", type: "CategoryList" as const, dictionary, start, codes }] };
  const { segments, furtherValues } = attributeSegments(many, "tags", { of: "users", seed: 1 });
  expect([segments.length, furtherValues, segments[0]!.name]).toEqual([ATTRIBUTE_VALUES_MAX, 10, "v59"]);
});

test("an unknown attribute is refused with the known ones", () => {
  const ask = () => attributeSegments(detail, "genre", { of: "items", seed: 1 });
  expect(ask).toThrow(expect.objectContaining({ code: "unknown_attribute" }));
  expect(ask).toThrow('did you mean "genres"');
  expect(() => attributeSegments({ ...detail, itemColumns: [] }, "x", { of: "items", seed: 1 })).toThrow(
    "the items have no attributes",
  );
});
