import type { ItemIndex } from "../ids.ts";
import type { History } from "../snapshot.ts";
import type { ScoreSums } from "./catalog-moments.ts";
import type { RecipeFiles } from "./recipe-files.ts";

export type Asked = {
  readonly histories: readonly History[];
  readonly items: readonly ItemIndex[];
  readonly itemCount: number;
  readonly files: RecipeFiles;
  /** Whether the sums over the catalog are needed too. */
  readonly wantsSums: boolean;
};

export type FewScores = {
  /** By history, then by item. */
  readonly scores: readonly Float64Array[];
  /** By history; empty if they are not wanted. */
  readonly sums: readonly ScoreSums[];
};
