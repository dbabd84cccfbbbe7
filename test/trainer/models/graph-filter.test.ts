import { graphFilter } from "../../../trainer/models/graph-filter.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(graphFilter as Method);
