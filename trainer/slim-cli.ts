/** The program of `npm run slim`. */
import { join } from "node:path";
import { type CommandLine, runCommand } from "./command-line.ts";
import { slim } from "./installed-packages.ts";

const SLIM = {
  name: "slim",
  does: "deletes what no command or test on this machine loads of the installed packages",
  forms: [
    ["", "binaries of other platforms, variants that are not used, headers, source maps"],
    ["--service", "and the tools of tests and checks, where only the service runs"],
  ],
  flags: {
    service: { type: "boolean", default: false, help: "keep only what start, serve, train and deploy need" },
    json: { type: "boolean", default: false, help: "the bytes before and after" },
  },
  notes: "npm ci restores everything.",
} as const satisfies CommandLine;

const MB = 1e6;

await runCommand(SLIM, async ({ flags }) => {
  const { before, after } = await slim(join(import.meta.dirname, ".."), flags.service);
  const [from, to] = [before, after].map((bytes) => `${Math.round(bytes / MB)} MB`);
  return { text: `node_modules had ${from}, and has ${to}. npm ci restores it.`, json: { before, after } };
});
