import fc from "fast-check";
import { TrieRouter } from "hono/router/trie-router";
import { expect, test } from "vitest";
import { ROUTES } from "../../edge/app.ts";
import { rememberingRouter } from "../../edge/remembering-router.ts";

const PARTS = ["v0", "models", "users", "rank", "erase", "events", "a%2Fb", "*", "", "x".repeat(250)];

test("it finds what Hono's router finds, the first time and again", () => {
  const [router, reference] = [rememberingRouter<string>(), new TrieRouter<string>()];
  for (const one of [router, reference]) {
    one.add("ALL", "/v0/models/*", "authenticate");
    for (const [path, methods] of Object.entries(ROUTES))
      for (const method of Object.keys(methods)) one.add(method, path, `${method} ${path}`);
  }
  const paths = fc.array(fc.constantFrom(...PARTS), { maxLength: 6 }).map((parts) => `/${parts.join("/")}`);
  fc.assert(
    fc.property(fc.constantFrom("GET", "POST", "DELETE"), paths, (method, path) => {
      const expected = reference.match(method, path);
      expect(router.match(method, path)).toEqual(expected);
      expect(router.match(method, path)).toEqual(expected);
    }),
  );
});

test("results for thousands of paths are not kept", () => {
  const router = rememberingRouter<string>();
  router.add("GET", "/v0/users/:user_id", "view");
  const first = router.match("GET", "/v0/users/0");
  for (let user = 1; user < 1000; user++) router.match("GET", `/v0/users/${user}`);
  expect(router.match("GET", "/v0/users/0")).toBe(first);
  router.match("GET", "/v0/users/1000");
  expect(router.match("GET", "/v0/users/0")).not.toBe(first);
});
