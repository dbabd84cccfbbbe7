import { ease } from "./ease.ts";
import { graphFilter } from "./graph-filter.ts";
import { itemKnn } from "./item-knn.ts";
import { localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { popularity } from "./popularity.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { sequentialRidge } from "./sequential-ridge.ts";

/** Every method by its name, cheap ones first. */
export const METHODS: Readonly<Record<string, Method>> = Object.fromEntries(
  [popularity, itemKnn, ease, localSetRidge, graphFilter, sequentialRidge, sequentialLocalRidge].map((method) => [
    method.name,
    method as Method,
  ]),
);
