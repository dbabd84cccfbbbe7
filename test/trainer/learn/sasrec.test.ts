import type { Method } from "../../../trainer/learn/model.ts";
import { sasrec } from "../../../trainer/learn/sasrec.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sasrec as Method);
attributeSuite(sasrec as Method);
