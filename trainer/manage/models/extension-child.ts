/** The program of the process that extends a version, which takes seconds of computing. */
import { FormatError } from "../../../shared/assert.ts";
import { type ExtensionInput, extendVersion } from "../../publish/extend-version.ts";
import type { ExtensionResult } from "./extend-model.ts";

async function resultOf(input: ExtensionInput): Promise<ExtensionResult> {
  try {
    return { kind: "extension", bytes: await extendVersion(input) };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { kind: "unreadable", message: error.message };
  }
}

process.once("message", async (input: ExtensionInput) => {
  process.send!(await resultOf(input));
});
process.once("disconnect", () => process.exit());
