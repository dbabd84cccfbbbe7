import { localSetRidge } from "../../../trainer/models/local-set-ridge.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(localSetRidge as Method);
