import { sasrec } from "../../../trainer/models/sasrec.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sasrec);
