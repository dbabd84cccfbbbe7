import type { Method } from "../../../trainer/models/model.ts";
import { sequentialBlend } from "../../../trainer/models/sequential-blend.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialBlend as Method);
