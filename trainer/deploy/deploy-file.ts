/**
 * The settings file of a deployment: variables of the trainer, and what a later `npm run deploy` has to know. It is written after
 * each change, so that a run that ends half-way is continued by the next one. It has secrets, and is readable by its owner only.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseEnv } from "node:util";
import { LocalError } from "../local/local-error.ts";

const NAMES = [
  "SHORTLIST_S3_ENDPOINT",
  "SHORTLIST_S3_BUCKET",
  "SHORTLIST_S3_ACCESS_KEY_ID",
  "SHORTLIST_S3_SECRET_ACCESS_KEY",
  "FORWARD_SECRET",
  "SHORTLIST_EDGE_URL",
  "TRAINER_URL",
  "SHORTLIST_API_KEY",
  "SHORTLIST_OPERATOR",
] as const;
type Name = (typeof NAMES)[number];
export type DeployValues = Readonly<Partial<Record<Name, string | undefined>>>;

export type DeployFile = {
  readonly path: string;
  values(): DeployValues;
  change(values: DeployValues): Promise<void>;
};

export async function openDeployFile(path: string): Promise<DeployFile> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return "";
    throw new LocalError(`${path} cannot be read: ${cause.message}.`, { cause });
  });
  // Variables that the operator has added stay.
  let values: Readonly<Record<string, string | undefined>> = parseEnv(text);
  return {
    path,
    values: () => values,
    async change(changed) {
      values = { ...values, ...changed };
      const names = [...NAMES, ...Object.keys(values).filter((name) => !NAMES.includes(name as Name))];
      const lines = names.flatMap((name) => (values[name] === undefined ? [] : `${name}=${quoted(values[name])}\n`));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.new`, lines.join(""), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

const quoted = (value: string) => (/^[\w:/.,@+=-]*$/.test(value) ? value : `'${value}'`);
