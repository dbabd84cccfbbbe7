import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sharpenedFilter } from "../../../trainer/learn/sharpened-filter.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sharpenedFilter as Method);
