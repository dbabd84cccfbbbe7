import { join } from "node:path";
import { evaluateFiles } from "../../trainer/choose/files/evaluate-files.ts";
import { readFiles } from "../../trainer/choose/files/read-files.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { type RealDataSet, realDataFolder } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { BUDGET } from "./quality-judge.ts";

/** Data sets that are published as a train and a test file. */
export const FILE_TASKS = ["yelp2018"] as const satisfies readonly RealDataSet[];

/** Recall@20 and NDCG@20 of matrix factorisation with the bilateral softmax, from the repository of its authors. */
const REFERENCES = { yelp2018: [0.0725, 0.0599] } as const;
const SECONDS = 1800;
const K = 20;

/** The automatic choice within the train file, measured on the test file. */
export async function fileFigures(
  set: (typeof FILE_TASKS)[number],
  { say, seconds = SECONDS }: { readonly say: (line: string) => void; readonly seconds?: number | undefined },
): Promise<Figure[]> {
  const begin = performance.now();
  const clock = () => (performance.now() - begin) / 1000;
  const { signal } = new AbortController();
  const [train, test] = ["train", "test"].map((part) => join(realDataFolder(set), `${part}.csv.gz`));
  const data = await readFiles({ train: train!, test: test!, columns: { time: null } }, signal);
  const { models } = await evaluateFiles(data, {
    ...{ protocol: "set", methods: METHODS, measureAll: false, cutOffs: [K], includeSeen: false },
    ...{ secondsMax: seconds, memoryMbMax: 8000, budget: BUDGET, seed: 1, signal, clock },
    log: (line) => say(`    ${clock().toFixed(0)} s  ${line}`),
  });
  const { metrics, fit_seconds: fitSeconds } = models.find(({ chosen }) => chosen)!;
  const name = `quality.${set}.set.chosen`;
  return [
    compared(`${name}.recall@${K}`, "share", metrics[`recall@${K}`]!, REFERENCES[set][0]),
    compared(`${name}.ndcg@${K}`, "share", metrics[`ndcg@${K}`]!, REFERENCES[set][1]),
    { name: `${name}.fit_seconds`, value: fitSeconds, unit: "s" },
  ];
}
