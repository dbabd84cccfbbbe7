import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Systems take ports for connections and for `listen(0)` from higher ranges (Linux from 32,768, macOS and Windows from
 * 49,152). So no other program gets the port by chance before the service listens on it, seconds later.
 */
const RANGE = [20_000, 32_768] as const;
const ATTEMPTS = 20;

/** Finds a loopback port on which nobody listens, in a range from its first port to before its second. */
export async function freePort([first, end]: readonly [number, number] = RANGE): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(first, end);
    try {
      await tryPort(port);
      return port;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** Listens on a loopback port for a moment, and rejects with the system's error, such as EADDRINUSE, if that fails. */
export async function tryPort(port: number): Promise<void> {
  const server = createServer().listen({ port, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}
