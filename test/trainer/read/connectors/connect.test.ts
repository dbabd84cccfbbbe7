import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { connect } from "../../../../trainer/read/connectors/connect.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";

const context = { customer: "acme", settings: fileSettings([tmpdir()], tmpdir()) };

test.each(["Fil", "file", "constructor", "__proto__"])(
  "an unknown type is refused, and the types are named: %s",
  (type) =>
    expect(connect({ type }, context)).rejects.toMatchObject({
      code: "unknown_connector_type",
      stage: "fetching",
      message: expect.stringContaining("File"),
    }),
);

test("the error suggests the nearest type", () =>
  expect(connect({ type: "Fil" }, context)).rejects.toThrow('did you mean "File"?'));

test("a known type is opened by its own connector", () =>
  expect(connect({ type: "File", location: "not-there.csv" }, context)).rejects.toMatchObject({
    code: "file_not_found",
  }));
