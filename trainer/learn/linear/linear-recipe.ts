import type { TypedArray } from "../../../shared/container.ts";
import type { DenseRecipe, LinearRecipe, SparseRecipe } from "../../../shared/score-recipe.ts";
import type { GraphPart } from "../model.ts";
import type { FileBox } from "../scoring/scoring-graph.ts";
import { bytesRecipe } from "../weights/byte-matrix.ts";
import type { EncodedDense } from "../weights/dense-encoding.ts";
import type { EncodedSparse } from "../weights/sparse-encoding.ts";
import type { Encoding } from "../weights/weight-encoding.ts";
import { type LinearTerm, recipeWeighting } from "./linear-model.ts";

/** How the scores of a few items follow from a linear model's files. Undefined for weights by two hops. */
export function linearRecipe(
  terms: readonly LinearTerm[],
  { matrices, stacked, bias }: Encoding,
  { pathOf }: FileBox,
): GraphPart["recipe"] {
  const found: LinearRecipe["terms"] = [];
  for (const [i, matrix] of matrices.entries()) {
    const weighting = recipeWeighting(terms[i]!.weighting);
    const dense = (of: EncodedDense, rows: string, scales: string): DenseRecipe => ({
      file: pathOf(`term${i}_${rows}`),
      columns: of.columnCount,
      ...(of.rowScales && { scales: pathOf(`term${i}_${scales}`) }),
    });
    if (matrix.kind === "hops") return undefined;
    if (matrix.kind === "stacked") {
      found.push({ weighting, matrix: { kind: "sparse", first_row: matrix.firstRow } });
    } else if (matrix.kind === "dense") {
      found.push({ weighting, matrix: { kind: "dense", rows: dense(matrix, "rows", "scales") } });
    } else {
      const left = dense(matrix.left, "left_rows", "left_scales");
      const right =
        matrix.right.kind === "bytes"
          ? bytesRecipe(matrix.right, (name) => pathOf(`term${i}_right_${name}`))
          : dense(matrix.right, "right_rows", "right_scales");
      found.push({ weighting, matrix: { kind: "factors", left, right } });
    }
  }
  const recipe: LinearRecipe = {
    kind: "linear",
    ...(bias && { bias: { file: pathOf("bias"), ...(bias.scale !== undefined && { scale: bias.scale }) } }),
    ...(stacked && { sparse: sparseRecipe(stacked, pathOf) }),
    terms: found,
  };
  return { recipe, arrays: stacked ? codeTables(stacked, pathOf) : {} };
}

type PathOf = FileBox["pathOf"];

function sparseRecipe({ entries }: EncodedSparse, pathOf: PathOf): SparseRecipe {
  const rows = { blocks: pathOf("blocks"), offsets: pathOf("offsets") };
  if (entries.kind === "exact") {
    const { columnType } = entries;
    return {
      ...rows,
      entries: { kind: "exact", columns: pathOf("columns"), column_type: columnType, values: pathOf("values") },
    };
  }
  const [low, codes, levels, highs] = ["low", "codes", "levels", "highs"].map(pathOf) as [
    string,
    string,
    string,
    string,
  ];
  return { ...rows, entries: { kind: "coded", low, codes, levels, highs } };
}

/** What codes stand for: the graph has these arrays inside. */
const codeTables = ({ entries }: EncodedSparse, pathOf: PathOf): Record<string, TypedArray> =>
  entries.kind === "coded" ? { [pathOf("levels")]: entries.levels, [pathOf("highs")]: entries.highs } : {};
