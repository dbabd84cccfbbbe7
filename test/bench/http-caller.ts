/**
 * A minimal HTTP/1.1 client (RFC 9112) on kept-alive connections. Node's `fetch` takes half a millisecond per call,
 * which would distort what the benches measure.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type HttpCaller = {
  /** Makes one call; opens as many connections as calls are concurrent. */
  call(path: string, options?: HttpCall): Promise<HttpAnswer>;
  close(): void;
};
export type HttpCall = { readonly headers?: Readonly<Record<string, string>>; readonly body?: object | undefined };
export type HttpAnswer = {
  readonly status: number;
  readonly text: string;
  /** Header value by lower-case name. */
  header(name: string): string | undefined;
};

/** @param origin Such as `http://127.0.0.1:8787`. */
export function httpCaller(origin: string): HttpCaller {
  const { hostname, port, host } = new URL(origin);
  const idle: Socket[] = [];
  const open = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    socket.on("error", () => {}); // reported through the pending answer
    return socket;
  };
  /** Servers close idle connections. */
  const kept = () => {
    for (let socket = idle.pop(); socket; socket = idle.pop()) if (socket.readyState === "open") return socket;
    return undefined;
  };
  const askOn = async (socket: Socket, request: string) => {
    const answer = answerFrom(socket);
    socket.write(request);
    await answer;
    idle.push(socket);
    return answer;
  };
  return {
    async call(path, { headers = {}, body } = {}) {
      const request = requestText(path, { host, ...headers }, body);
      const socket = kept();
      if (socket === undefined) return askOn(await open(), request);
      return askOn(socket, request).catch(async (error: unknown) => {
        if (error instanceof EndedUnread) return askOn(await open(), request);
        throw error;
      });
    },
    close() {
      for (const socket of idle) socket.destroy();
    },
  };
}

/**
 * The connection closed before the first byte of an answer; a kept-alive one was most likely closed before it was
 * used.
 */
class EndedUnread extends Error {
  override readonly name = "EndedUnread";
}

function requestText(path: string, headers: Readonly<Record<string, string>>, body?: object): string {
  const json = body && JSON.stringify(body);
  const sized =
    json === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(json) };
  const lines = Object.entries({ ...headers, ...sized }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${json === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${json ?? ""}`;
}

/** Reads the next complete answer. Rejects if the connection closes first. */
function answerFrom(socket: Socket): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const done = (answer: HttpAnswer | Error) => {
      socket.off("data", hear).off("error", done).off("close", ended);
      if (answer instanceof Error) reject(answer);
      else resolve(answer);
    };
    const hear = (bytes: Buffer) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
      const answer = wholeAnswer(received);
      if (answer) done(answer);
    };
    const ended = () => {
      const message = `The connection ended within an answer: ${received.toString().slice(0, 200)}`;
      done(received.length === 0 ? new EndedUnread(message) : new Error(message));
    };
    socket.on("data", hear).on("error", done).on("close", ended);
  });
}

const HEAD_END = "\r\n\r\n";

/** Undefined while the answer is incomplete. */
export function wholeAnswer(received: Buffer): HttpAnswer | undefined {
  const headLength = received.indexOf(HEAD_END);
  if (headLength < 0) return undefined;
  const head = received.toString("latin1", 0, headLength);
  const body = received.subarray(headLength + HEAD_END.length);
  const status = Number(head.split(" ", 2)[1]);
  const header = (name: string) => new RegExp(`\\r\\n${name}: *([^\\r]*)`, "i").exec(head)?.[1];
  const length = Number(header("content-length") ?? 0);
  const isChunked = header("transfer-encoding") === "chunked";
  const whole = isChunked ? joinedChunks(body) : body.length < length ? undefined : body.subarray(0, length);
  return whole && { status, text: whole.toString(), header };
}

function joinedChunks(body: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(body.toString("latin1", at, lineEnd), 16);
    const [begin, end] = [lineEnd + 2, lineEnd + 2 + length];
    if (body.length < end + 2) return undefined;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(body.subarray(begin, end));
    at = end + 2;
  }
}
