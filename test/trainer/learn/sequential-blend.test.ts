import type { Method } from "../../../trainer/learn/model.ts";
import { sequentialBlend } from "../../../trainer/learn/sequential-blend.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialBlend as Method);
