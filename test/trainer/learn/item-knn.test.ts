import { itemKnn } from "../../../trainer/learn/item-knn.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(itemKnn as Method);
