import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Folders whose tests may start processes, servers or databases, fake the clock or set variables. */
const SERVICES = ["edge", "system", "trainer/manage", "trainer/run", "trainer/local"];

/** Signs of this in a test or in a fixture that it imports. */
const MARKS = [
  /useFakeTimers|stubEnv|stubGlobal|spyOn|vi\.mock|Date\.now =|globalThis\./,
  /process\.(env|on|once|kill|exit|chdir|umask|stdout|stderr)|setPriority/,
  /node:child_process|node:worker_threads|new Worker|createServer|\.listen\(/,
  /Miniflare|"wrangler"|PGlite/,
];

/** Paths of the tests that need a separate process. One for every test would take a tenth of the total time. */
export function testsInOwnProcess(root: string): string[] {
  const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `test/${path}`);
  const ofRuns = tests.filter((path) => ["test/trainer", "test/trainer/run"].includes(dirname(path)));
  const ofServices = tests.filter((path) => SERVICES.some((folder) => path.startsWith(`test/${folder}/`)));
  // A mocked module stays mocked for the other tests of a shared process.
  const ofMocks = tests.filter((path) => readFileSync(join(root, path), "utf8").includes("vi.mock("));
  return [...new Set([...ofRuns, ...ofMocks, ...ofServices.filter((path) => isMarked(path, root))])];
}

function isMarked(path: string, root: string, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(join(root, path), "utf8");
  if (MARKS.some((mark) => mark.test(text))) return true;
  const imported = Array.from(text.matchAll(/from "(\.[^"]+)"/g), ([, place]) =>
    normalize(join(dirname(path), place!)),
  );
  return imported.some((one) => one.startsWith("test/") && isMarked(one, root, seen));
}
