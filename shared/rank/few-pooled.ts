import type { ItemIndex } from "../ids.ts";
import type { PooledRecipe, VectorsRecipe } from "../score-recipe.ts";
import type { History } from "../snapshot.ts";
import type { Asked, FewScores } from "./asked-scores.ts";
import { sumsOfProducts } from "./catalog-moments.ts";
import { asBytes, columnReader, dot } from "./item-columns.ts";
import type { RecipeFiles } from "./recipe-files.ts";

/** The length below which the graph does not divide a vector by its length. */
const LENGTH_MIN = 1e-6;

/** Scores of a pooled model: products of the user's vector with those of the items. */
export function fewPooled(recipe: PooledRecipe, { histories, items, files, wantsSums }: Asked): FewScores {
  const { vectors, width } = recipe;
  const vectorOf = vectorReader(vectors, width, files);
  const columns = items.map(vectorOf.served);
  const weighed = new Map<ItemIndex, Float64Array>();
  const lengths = files.float32(recipe.lengths);
  const places = recipe.place_weights === undefined ? undefined : files.float32(recipe.place_weights);
  const rowOf = (item: ItemIndex): Float64Array => {
    const row = weighed.get(item) ?? vectorOf.whole(item).map((value) => value * lengths[item]!);
    weighed.set(item, row);
    return row;
  };
  const [projection, everyone] = [files.float32(recipe.projection), files.float32(recipe.everyone)];
  const served = histories.map((history) =>
    vectorOf.asServed(unit(projected(pooled(history, { recipe, rowOf, places }), projection, everyone))),
  );
  return {
    scores: served.map((user) => Float64Array.from(columns, (column) => dot(user, column))),
    sums: wantsSums ? served.map((user) => sumsOfProducts(user, vectors.file, files)) : [],
  };
}

type Pooling = {
  readonly recipe: PooledRecipe;
  readonly rowOf: (item: ItemIndex) => Float64Array;
  readonly places: Float32Array | undefined;
};

/** The weighted sum of the vectors of a history's newest entries. [width] */
function pooled({ items }: History, { recipe, rowOf, places }: Pooling): Float64Array {
  const sum = new Float64Array(recipe.width);
  for (let at = Math.max(0, items.length - recipe.length); at < items.length; at++) {
    const weight = places ? Math.exp(places[items.length - 1 - at]!) : 1;
    const row = rowOf(items[at]!);
    for (let i = 0; i < sum.length; i++) sum[i]! += weight * row[i]!;
  }
  return sum;
}

/** everyone + vector · projection */
function projected(vector: Float64Array, projection: Float32Array, everyone: Float32Array): Float64Array {
  const width = everyone.length;
  const into = Float64Array.from(everyone);
  for (const [i, value] of vector.entries())
    for (let j = 0; j < width; j++) into[j]! += value * projection[i * width + j]!;
  return into;
}

const unit = (vector: Float64Array): Float64Array => {
  const length = Math.max(LENGTH_MIN, Math.sqrt(dot(vector, vector)));
  return vector.map((value) => value / length);
};

type VectorReader = {
  /** An item's vector as it is multiplied: of the directions that are served. */
  readonly served: (item: ItemIndex) => Float64Array;
  /** An item's vector as part of a history. [width] */
  readonly whole: (item: ItemIndex) => Float64Array;
  /** A user's vector as it is multiplied. */
  readonly asServed: (vector: Float64Array) => Float64Array;
};

function vectorReader(recipe: VectorsRecipe, fullWidth: number, files: RecipeFiles): VectorReader {
  const { width } = recipe;
  const numberAt = columnReader(recipe, files);
  const served = (item: ItemIndex) => Float64Array.from({ length: width }, (_, i) => numberAt(item, i));
  if (recipe.kind === "floats") return { served, whole: served, asServed: (vector) => vector };
  if (recipe.basis === undefined) return { served, whole: served, asServed: asBytes };
  const basis = files.float32(recipe.basis);
  return {
    served,
    whole(item) {
      const inDirections = served(item);
      return Float64Array.from({ length: fullWidth }, (_, j) =>
        inDirections.reduce((sum, value, i) => sum + value * basis[i * fullWidth + j]!, 0),
      );
    },
    asServed: (vector) =>
      asBytes(
        Float64Array.from({ length: width }, (_, i) =>
          dot(vector, Float64Array.from(basis.subarray(i * fullWidth, (i + 1) * fullWidth))),
        ),
      ),
  };
}
