import { expect, test } from "vitest";
import { LocalError, sentence } from "../../../trainer/local/local-error.ts";

test("a LocalError has its name and cause", () => {
  const cause = new Error("EADDRINUSE");
  const error = new LocalError("Port 1 is in use.", { cause });
  expect(error).toBeInstanceOf(Error);
  expect([error.name, error.message, error.cause]).toEqual(["LocalError", "Port 1 is in use.", cause]);
});

test.each([
  ["The query is empty", "The query is empty."],
  ["The file is gone.", "The file is gone."],
  ["Is the user column the right one?", "Is the user column the right one?"],
])("%j ends with a full stop or question mark", (text, expected) => expect(sentence(text)).toBe(expected));
