import { ease } from "../../../trainer/models/ease.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(ease as Method);
