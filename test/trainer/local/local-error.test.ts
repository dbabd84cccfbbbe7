import { expect, test } from "vitest";
import { LocalError } from "../../../trainer/local/local-error.ts";

test("it is told apart by its name, and keeps its cause", () => {
  const cause = new Error("EADDRINUSE");
  const error = new LocalError("Port 1 is in use.", { cause });
  expect(error).toBeInstanceOf(Error);
  expect([error.name, error.message, error.cause]).toEqual(["LocalError", "Port 1 is in use.", cause]);
});
