import type { Method } from "../../../trainer/learn/model.ts";
import { pooledHistory } from "../../../trainer/learn/pooled-history.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(pooledHistory as Method);
attributeSuite(pooledHistory as Method);
