import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { reachThisMachine } from "../../trainer/no-proxy.ts";

test.each([
  [{}, "127.0.0.1,localhost"],
  [{ NO_PROXY: "inner.example", no_proxy: "" }, "inner.example,127.0.0.1,localhost"],
  [{ NO_PROXY: "other", no_proxy: "own.example" }, "own.example,127.0.0.1,localhost"],
])("%j gets this machine", (given, expected) => {
  const environment = { ...given };
  reachThisMachine(environment);
  expect(environment).toEqual({ NO_PROXY: expected, no_proxy: expected });
});

const trainer = join(import.meta.dirname, "../../trainer");
const programs = readdirSync(trainer, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith("-cli.ts"));

test.each(["main.ts", "local/start.ts", "serve/serve.ts", "serve/setup.ts", "serve/doctor.ts", ...programs])(
  "%s is run as every command, which reaches this machine",
  (path) => expect(readFileSync(join(trainer, path), "utf8")).toMatch(/^await runCommand\(|^ {2}await runCommand\(/m),
);

test("a call to this machine goes past the proxy of the environment", async () => {
  const server = createServer((_, response) => response.end("here")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const path = join(trainer, "no-proxy.ts");
  const call = `console.log(await (await fetch("${url}")).text())`;
  const run = (program: string) =>
    promisify(execFile)(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], {
      env: { ...process.env, NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:9" },
    });
  try {
    await expect(run(call)).rejects.toThrow("ECONNREFUSED 127.0.0.1:9");
    const { stdout } = await run(
      `import { reachThisMachine } from ${JSON.stringify(path)}; reachThisMachine(process.env); ${call}`,
    );
    expect(stdout).toBe("here\n");
  } finally {
    server.close();
  }
});
