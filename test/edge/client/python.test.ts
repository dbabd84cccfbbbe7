import { test } from "vitest";
import { hasPython, runPython, UNLESS_SKIPPED } from "../../fixtures/python.ts";

test.skipIf(!hasPython)(`the Python client retries and gives up as it should${UNLESS_SKIPPED}`, async () => {
  await runPython("test/fixtures/client-faults.py");
});
