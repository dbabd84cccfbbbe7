/**
 * How a version's scores of a few items follow from its weights, without a run of the scoring graph, which scores all items.
 *
 * Reasons need the scores of an answer's items for up to 22 histories. A recipe names the weight files that the graph has loaded already,
 * and adds what is inside the graph or takes a pass over the catalog to compute. It is left out where a model has no such form.
 *
 * Every name is that of an array of this file or of a weight file. Matrices are row-major, and `items` is the number of items.
 */
import * as z from "zod";
import { decodeContainer, encodeContainer, type TypedArray } from "./container.ts";

const KIND = "score-recipe";

const Name = z.string().min(1).max(100);
const Size = z.int().positive();

/** How much each entry of a history counts; trainer/learn/linear/linear-model.ts says how. A null scale: all positions weigh 1. */
const Weighting = z.object({
  distinct: z.boolean(),
  scale: z.number().positive().nullable(),
  window: Size,
  half_life_days: z.number().positive().optional(),
});
export type RecipeWeighting = z.infer<typeof Weighting>;

/** With `scales`, values are int8 codes: code c of row r stands for c·|c|·scales[r]. Else they are float32. */
const Dense = z.object({ file: Name, columns: Size, scales: Name.optional() });
export type DenseRecipe = z.infer<typeof Dense>;

/** The right factor: a matrix with a row for each number, or the items' vectors. */
export type RightRecipe = DenseRecipe | z.infer<typeof ByteVectors>;

/** Row r is the entries from blocks[⌊r / 64⌋] + offsets[r] to the same of r + 1. */
const Sparse = z.object({
  blocks: Name,
  offsets: Name,
  entries: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("exact"), columns: Name, column_type: z.enum(["uint16", "int32"]), values: Name }),
    /** Column = low + highs[code], value = levels[code]. */
    z.object({ kind: z.literal("coded"), low: Name, codes: Name, levels: Name, highs: Name }),
  ]),
});
export type SparseRecipe = z.infer<typeof Sparse>;

/** uint8 [blocks, width, block_items] around 128, with a scale for each item. A vector is turned into bytes too before it is multiplied. */
const ByteVectors = z.object({
  kind: z.literal("bytes"),
  file: Name,
  width: Size,
  block_items: Size,
  scales: Name,
});

/** Item vectors. */
const Vectors = z.discriminatedUnion("kind", [
  /** float32 [width, items] */
  z.object({ kind: z.literal("floats"), file: Name, width: Size }),
  /** With a basis [width, full width], vectors are those of `width` directions. */
  ByteVectors.extend({ basis: Name.optional() }),
]);
export type VectorsRecipe = z.infer<typeof Vectors>;

const Term = z.object({
  weighting: Weighting,
  matrix: z.discriminatedUnion("kind", [
    /** The rows of the sparse matrix from `first_row` on. */
    z.object({ kind: z.literal("sparse"), first_row: z.int().nonnegative() }),
    z.object({ kind: z.literal("dense"), rows: Dense }),
    /** With vectors of bytes on the right, those of the history are turned into bytes too. Earlier releases wrote int8 codes there. */
    z.object({ kind: z.literal("factors"), left: Dense, right: z.union([ByteVectors, Dense]) }),
  ]),
});

/** bias + Σ over terms, Σ over the history: weight(entry) · the entry's row. */
const Linear = z.object({
  kind: z.literal("linear"),
  bias: z.object({ file: Name, scale: z.number().optional() }).optional(),
  sparse: Sparse.optional(),
  terms: z.array(Term).max(32),
});
export type LinearRecipe = z.infer<typeof Linear>;

/** Products with unit(everyone + (Σ over the history: lengths[item] · place weight · vector of the item) · projection). */
const Pooled = z.object({
  kind: z.literal("pooled"),
  /** Newest entries that are read. */
  length: Size,
  width: Size,
  vectors: Vectors,
  lengths: Name,
  /** Logarithms, by distance from the newest entry. */
  place_weights: Name.optional(),
  projection: Name,
  everyone: Name,
});
export type PooledRecipe = z.infer<typeof Pooled>;

/** Σ weight · scores of the part / their standard deviation over the catalog. */
export type BlendRecipe = {
  kind: "blend";
  parts: { weight: number; part: ScoreRecipe }[];
};
/** The scores of `warm`; those of cold items depend on the whole list. `is_cold` has a byte for each item, which is 1 for these. */
export type ColdRecipe = { kind: "cold"; warm: ScoreRecipe; is_cold: string };
export type ScoreRecipe = LinearRecipe | PooledRecipe | BlendRecipe | ColdRecipe;

const DEPTH_MAX = 4;

const recipeSchema = (depth: number): z.ZodType<ScoreRecipe> => {
  const leaf = [Linear, Pooled] as const;
  if (depth === 0) return z.discriminatedUnion("kind", leaf);
  const inner = recipeSchema(depth - 1);
  const parts = z
    .array(z.object({ weight: z.number(), part: inner }))
    .min(1)
    .max(16);
  return z.discriminatedUnion("kind", [
    ...leaf,
    z.object({ kind: z.literal("blend"), parts }),
    z.object({ kind: z.literal("cold"), warm: inner, is_cold: Name }),
  ]);
};

const Metadata = z.object({ recipe: recipeSchema(DEPTH_MAX) });

/** A recipe with the arrays that are in no weight file. */
export type StoredRecipe = { readonly recipe: ScoreRecipe; readonly arrays: Readonly<Record<string, TypedArray>> };

export const encodeRecipe = ({ recipe, arrays }: StoredRecipe): Uint8Array =>
  encodeContainer({ kind: KIND, metadata: { recipe }, arrays });

/** Throws FormatError. The arrays are views of `bytes`. */
export function decodeRecipe(bytes: Uint8Array): StoredRecipe {
  const { metadata, arrays } = decodeContainer(bytes, KIND, Metadata);
  return { recipe: metadata.recipe, arrays: Object.fromEntries(arrays) };
}
