import type { Method } from "../../../trainer/models/model.ts";
import { sequentialRidge } from "../../../trainer/models/sequential-ridge.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialRidge as Method);
