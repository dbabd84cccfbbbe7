import { localSetRidge } from "../../../trainer/learn/local-set-ridge.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(localSetRidge as Method);
