/** A source file with its path from the repository's root. */
export type SourceFile = { readonly path: string; readonly text: string };

/** A rule of the repository: returns what is wrong with a file, or undefined. */
type Rule = (file: SourceFile) => string | undefined;

/** Folders that a top-level folder may import from. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  shared: ["shared"],
  edge: ["edge", "shared"],
  trainer: ["trainer", "shared"],
  test: ["edge", "shared", "test", "trainer"],
};
/** The trainer's folders from top to bottom. A folder imports only from lower lines. */
const TRAINER_FLOORS: readonly (readonly string[])[] = [
  ["shortlist.ts", "keys", "deploy"],
  ["serve"],
  ["main.ts", "evaluate-cli.ts", "event-shards-cli.ts", "slim-cli.ts", "local"],
  ["manage"],
  ["run"],
  ["choose", "publish"],
  ["learn"],
  ["read"],
  ["store"],
  ["settings.ts", "environment-variables.ts", "installed-packages.ts", "log", "stage"],
];
const EMPTY_NAMES = /(^|[/-])(utils?|helpers?|common|misc|manager|base|lib|types|constants)(\.ts|\/)/;
const IMPURE = /\b(Date\.now|new Date\(\)|Math\.random|process\.|fetch\(|console\.)|from "node:/;
const NODE_ONLY = /from "node:|\bprocess\.|\bBuffer\b/;
const LINES_MAX = 400;
const COLUMNS_MAX = 140;
/** A one-sentence message stays on one line, so that it can be searched for. */
const ONE_TEXT = /^\s*((const )?\w+(:| =) )?["'`].*["'`][,;]?$/;

const RULES: readonly Rule[] = [
  ({ path, text }) => {
    const foreign = importsOf(path, text).find((to) => !MAY_IMPORT[roomOf(path)]?.includes(roomOf(to)));
    return foreign && `${roomOf(path)}/ may not import ${foreign}`;
  },
  ({ path, text }) => {
    const from = floorOf(path);
    const higher = importsOf(path, text).find((to) => roomOf(path) === "trainer" && floorOf(to) < from);
    return higher && `${path.split("/").slice(0, 2).join("/")} may not import ${higher}`;
  },
  ({ path, text }) => {
    const foreign = packagesOf(text).find((name) => roomOf(path) === "shared" && name !== "zod");
    return foreign && `shared/ imports only zod, not ${foreign}`;
  },
  ({ path, text }) => when(roomOf(path) === "shared" && IMPURE.test(text), "shared/ has no I/O, clock or chance"),
  ({ path, text }) => when(roomOf(path) === "edge" && NODE_ONLY.test(text), "edge/ runs in workerd: no Node APIs"),
  ({ path }) => when(EMPTY_NAMES.test(path), "this name says nothing; name the file after what it holds"),
  ({ text }) => when(/^export \* /m.test(text), "no barrels; import from the file that defines the name"),
  ({ text }) => when(text.split("\n").length > LINES_MAX, `longer than ${LINES_MAX} lines; find the seam`),
  ({ text }) =>
    when(
      text.split("\n").some((line) => line.length > COLUMNS_MAX && !ONE_TEXT.test(line)),
      `a line over ${COLUMNS_MAX} columns`,
    ),
  ({ text }) => when(/\b(FIXME|XXX|HACK)\b/.test(text), "a leftover note; settle it or delete it"),
];

/** All violations, as `path: reason`. */
export function untidy(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => RULES.flatMap((rule) => rule(file) ?? []).map((reason) => `${file.path}: ${reason}`));
}

/** Import cycles, including type imports, each once as `a → b → a`. */
export function circles(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.map(({ path, text }) => [path, importsOf(path, text)]));
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]) => {
    const begin = above.indexOf(path);
    if (begin >= 0) found.push([...above.slice(begin), path].join(" → "));
    if (begin >= 0 || done.has(path)) return;
    for (const to of imports.get(path) ?? []) visit(to, [...above, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  return found;
}

const when = (condition: boolean, reason: string) => (condition ? reason : undefined);
const roomOf = (path: string) => path.slice(0, path.indexOf("/"));
/** The index in TRAINER_FLOORS of a trainer file; larger than all of them for other files. */
const floorOf = (path: string) => {
  const room = path.split("/")[1]!;
  const floor = TRAINER_FLOORS.findIndex((rooms) => path.startsWith("trainer/") && rooms.includes(room));
  return floor < 0 ? TRAINER_FLOORS.length : floor;
};

/** The repository files that a file imports, by path from the root. */
function importsOf(path: string, text: string): string[] {
  const relative = [...text.matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g)].map((match) => match[1]!);
  return relative.map((to) => new URL(to, `file:///${path}`).pathname.slice(1));
}

/** The packages that a file imports. */
const packagesOf = (text: string): string[] =>
  [...text.matchAll(/^(?:import|export) [^;]*?from "([^."][^"]*)"/gm)].map((match) => match[1]!);
