import { ease } from "../../../trainer/learn/ease.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(ease as Method);
