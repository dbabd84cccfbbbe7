import type { Method } from "../../../trainer/learn/model.ts";
import { sequentialLocalRidge } from "../../../trainer/learn/sequential-local-ridge.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialLocalRidge as Method);
attributeSuite(sequentialLocalRidge as Method);
