/** The program of a training thread: it computes one part of each batch. */
import { workerData } from "node:worker_threads";
import { answerEach } from "../asked-thread.ts";
import { asTensors, openPart, type StepInputsAsData } from "./step-part.ts";
import type { ThreadTask } from "./training-step.ts";

const { program, gradients } = workerData as ThreadTask;
const opening = openPart(program, gradients);

answerEach(async (inputs: StepInputsAsData) => {
  const part = await opening;
  const answer = await part.run(asTensors(inputs), ({ loss, rowGradients }) => ({
    loss,
    // Copies, because the session's memory cannot be transferred.
    rowGradients: rowGradients.map(({ parameter, indices, rows }) => ({
      parameter,
      indices: indices.slice(),
      rows: rows.slice(),
    })),
  }));
  return { answer, transfer: answer.rowGradients.flatMap(({ indices, rows }) => [indices.buffer, rows.buffer]) };
});
