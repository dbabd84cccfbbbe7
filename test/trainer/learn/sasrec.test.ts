import type { Method } from "../../../trainer/learn/model.ts";
import { sasrec } from "../../../trainer/learn/sasrec.ts";
import { modelSuite } from "../../suites/model-suite.ts";
import { killSuite, resumeSuite } from "../../suites/resume-suite.ts";

modelSuite(sasrec as Method);
resumeSuite(sasrec as Method);
killSuite(sasrec as Method);
