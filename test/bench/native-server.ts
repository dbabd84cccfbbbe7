import { fork } from "node:child_process";
import { once } from "node:events";
import { httpCaller } from "./http-caller.ts";

/** Returns a list of item ids for a query such as `?user_id=7&limit=15`. */
export type NativeRank = (query: string) => Promise<number[]>;

/** Runs `native-server-process.ts` for the duration of the work. */
export async function withNativeServer<T>(
  { itemCount, weightBytesMax }: { readonly itemCount: number; readonly weightBytesMax: number },
  work: (rank: NativeRank) => Promise<T>,
): Promise<T> {
  const program = new URL("./native-server-process.ts", import.meta.url).pathname;
  const child = fork(program, [String(itemCount), String(weightBytesMax)]);
  try {
    const early = once(child, "exit").then(([code]) => {
      throw new Error(`The native server ended by itself (${code}).`);
    });
    early.catch(() => undefined);
    const [{ port }] = (await Promise.race([once(child, "message"), early])) as [{ port: number }];
    const http = httpCaller(`http://127.0.0.1:${port}`);
    const rank = async (query: string) => JSON.parse((await http.call(`/${query}`)).text) as number[];
    return await work(rank).finally(() => http.close());
  } finally {
    child.disconnect();
  }
}
