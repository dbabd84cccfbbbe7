/** Runs one task of `bench -- quality` in a separate process. A JSON flag holds the options and the task's name. */
import * as z from "zod";
import { qualityMeasures } from "./quality-measures.ts";

const flagSchema = z.object({
  task: z.string(),
  methods: z.array(z.string()).optional(),
  seconds: z.number().optional(),
  python: z.string().optional(),
});

const { task, methods, seconds, python } = flagSchema.parse(JSON.parse(process.argv[2]!));
const say = (said: string) => process.send!({ said });
const measure = qualityMeasures({ methods, seconds, python, say }).find(({ name }) => name === task)!;
process.send!({ measured: await measure.measure() }, () => process.disconnect());
