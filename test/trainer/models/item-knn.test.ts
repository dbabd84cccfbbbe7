import { itemKnn } from "../../../trainer/models/item-knn.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(itemKnn as Method);
