import { pooledHistory } from "../../../trainer/models/pooled-history.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(pooledHistory);
