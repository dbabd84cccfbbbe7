import type { Method } from "../../../trainer/models/model.ts";
import { setBlend } from "../../../trainer/models/set-blend.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(setBlend as Method);
