import { expect, test } from "vitest";
import { cursorOfItem, parseItemsQuery } from "../../../shared/items/items-query.ts";
import type { Problem } from "../../../shared/problem.ts";

const parsed = (query: string) => parseItemsQuery(new URLSearchParams(query));

test("without parameters, all items are asked for", () => {
  expect(parsed("")).toEqual({ changed: false, search: "", filter: undefined, limit: 50, offset: 0 });
  expect(parsed("search=red+lamp&limit=7&offset=14&retrieval=%7B%22a%22%3A1%7D")).toMatchObject({
    search: "red lamp",
    filter: { kind: "in", attribute: "a", values: [1] },
    limit: 7,
    offset: 14,
  });
});

test("a page of changed items begins after its cursor", () => {
  const cursor = cursorOfItem("Zoë/😀" as never);
  expect(parsed(`changed=true&limit=2&cursor=${cursor}`)).toEqual({ changed: true, limit: 2, after: "Zoë/😀" });
});

test.each([
  ["changed=false", "/changed", "invalid_parameter"],
  ["changed=true&search=a", "/search", "unknown_field"],
  ["cursor=aQ", "/cursor", "unknown_field"],
  ["limit=0", "/limit", "limit_out_of_range"],
  ["limit=101", "/limit", "limit_out_of_range"],
  ["offset=-1", "/offset", "invalid_parameter"],
  ["offset=x", "/offset", "invalid_parameter"],
  ["search=1+2+3+4+5+6+7+8+9", "/search", "invalid_parameter"],
  [`search=${"a".repeat(201)}`, "/search", "invalid_parameter"],
  ["search=a&search=b", "/search", "invalid_parameter"],
  ["retrieval=%7B", "/retrieval", "invalid_filter"],
  ["retrieval=%5B%5D", "/retrieval", "invalid_filter"],
  ["changed=true&cursor=*", "/cursor", "invalid_parameter"],
])("%s is refused", (query, pointer, code) => {
  try {
    parsed(query);
  } catch (error) {
    expect((error as Problem).errors[0]).toMatchObject({ pointer, code });
    return;
  }
  expect.fail("It was not refused.");
});
