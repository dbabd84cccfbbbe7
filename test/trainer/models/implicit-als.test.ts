import { implicitAls } from "../../../trainer/models/implicit-als.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(implicitAls as Method);
