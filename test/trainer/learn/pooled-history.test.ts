import type { Method } from "../../../trainer/learn/model.ts";
import { pooledHistory } from "../../../trainer/learn/pooled-history.ts";
import { modelSuite } from "../../suites/model-suite.ts";
import { killSuite, resumeSuite } from "../../suites/resume-suite.ts";

modelSuite(pooledHistory as Method);
resumeSuite(pooledHistory as Method);
killSuite(pooledHistory as Method);
