import { expect, test } from "vitest";
import { recentUsers } from "../../../edge/versions/recent-users.ts";
import type { UserId } from "../../../shared/ids.ts";

const note = (users: ReturnType<typeof recentUsers>, model: string, ...ids: string[]) => {
  for (const id of ids) users.note(model, id as UserId);
};

test("the most recent first, each once, each model's its own", () => {
  const users = recentUsers(10);
  note(users, "acme/shop", "ann", "bob", "ann");
  note(users, "acme/shop2", "eve");
  expect(users.of("acme/shop")).toEqual(["ann", "bob"]);
  expect([users.of("acme/shop2"), users.of("acme/sho")]).toEqual([["eve"], []]);
});
test("of more than so many the oldest are forgotten", () => {
  const users = recentUsers(3);
  note(users, "m", "a", "b", "c", "a", "d");
  expect(users.of("m")).toEqual(["d", "a", "c"]);
});
test("very long ids are not remembered", () => {
  const users = recentUsers(3);
  note(users, "m", "x".repeat(65), "y".repeat(64));
  expect(users.of("m")).toEqual(["y".repeat(64)]);
});
