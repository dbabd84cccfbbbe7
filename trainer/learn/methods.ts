import { attributeRidge } from "./attributes/attribute-ridge.ts";
import { withColdItems } from "./attributes/cold-start.ts";
import { ease } from "./ease.ts";
import { graphFilter } from "./graph-filter.ts";
import { implicitAls } from "./implicit-als.ts";
import { itemKnn } from "./item-knn.ts";
import { localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { whereDataAllow } from "./neural/enough.ts";
import { neuralBlend } from "./neural-blend.ts";
import { pooledHistory } from "./pooled-history.ts";
import { popularity } from "./popularity.ts";
import { sasrec } from "./sasrec.ts";
import { sequentialBlend } from "./sequential-blend.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { sequentialRidge } from "./sequential-ridge.ts";
import { setBlend } from "./set-blend.ts";

const WITHOUT_COLD_ITEMS: readonly object[] = [popularity, attributeRidge];

const PERSONAL: readonly object[] = [
  itemKnn,
  ease,
  localSetRidge,
  graphFilter,
  implicitAls,
  sequentialRidge,
  sequentialLocalRidge,
  setBlend,
  sequentialBlend,
  whereDataAllow(pooledHistory as Method),
  whereDataAllow(sasrec as Method),
  whereDataAllow(neuralBlend as Method),
];

/** Every method by its name, cheap ones first. Personal methods also place cold items. */
export const METHODS: Readonly<Record<string, Method>> = Object.fromEntries(
  [...(WITHOUT_COLD_ITEMS as readonly Method[]), ...(PERSONAL as readonly Method[]).map(withColdItems)].map(
    (method) => [method.name, method],
  ),
);
