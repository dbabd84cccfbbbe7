import { warmUp, heapBytes } from "./scorer.ts";
await warmUp();
export default { fetch: () => Response.json({heap: heapBytes()}) };
