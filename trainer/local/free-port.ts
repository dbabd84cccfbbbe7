import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { LocalError } from "./local-error.ts";

/**
 * A port of the loopback interface on which nobody listens: the wanted one, or any for 0.
 *
 * @param flag The flag by which another one can be chosen, for the error.
 * @throws LocalError when the wanted port is in use or not allowed.
 */
export function freePort(wanted: number, flag: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "EADDRINUSE" ? "is in use" : `cannot be listened on (${cause.code})`;
      const remedy = `stop what uses it, or choose another one with ${flag} PORT (0 takes any free one)`;
      reject(new LocalError(`Port ${wanted} ${reason}: ${remedy}.`, { cause }));
    });
    server.listen({ port: wanted, host: "127.0.0.1", exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
