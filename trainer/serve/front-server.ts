/**
 * The service's public socket. It hands calls of the API to the Worker's processes in turn, and serves the pages. A call whose process
 * has just ended is sent to another one, if nothing of it can have had an effect.
 */
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { pageHeaders } from "./page-headers.ts";

export type FrontOptions = {
  readonly host: string;
  readonly port: number;
  /** Ports of the Worker's processes. */
  readonly workers: readonly number[];
  /** The folder of the pages. */
  readonly pages: string;
  /** Called when a call of the API has been answered. */
  readonly onAnswer?: (answer: Answered) => void;
};

export type Answered = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

export type FrontServer = { readonly port: number; close(): Promise<void> };

/** Paths that the Worker answers, as in wrangler.toml (`run_worker_first`). */
const API = /^\/(v0|health)\//;
/** Headers between two connections only (RFC 9110, 7.6.1), and those by which callers could pretend to be another address. */
const NOT_FORWARDED = ["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "cf-connecting-ip"];
const CALL_MS_MAX = 160_000;
const CLOSE_MS = 10_000;

export async function openFront({ host, port, workers, pages, onAnswer }: FrontOptions): Promise<FrontServer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1024 });
  const pagesApp = new Hono();
  pagesApp.use(await pageHeaders(pages));
  pagesApp.use(serveStatic({ root: pages }));
  pagesApp.notFound((c) => c.json({ title: "There is nothing at this address", status: 404, code: "not_found" }, 404));
  const servePage = getRequestListener(pagesApp.fetch);
  let turn = 0;

  const forward = (from: IncomingMessage, to: ServerResponse, attempt = 0) => {
    const startedMs = performance.now();
    const answered = (status: number, answerHeaders: Answered["headers"]) => {
      const { method = "", url: path = "" } = from;
      onAnswer?.({ method, path, status, milliseconds: performance.now() - startedMs, headers: answerHeaders });
    };
    const headers = Object.fromEntries(Object.entries(from.headers).filter(([name]) => !NOT_FORWARDED.includes(name)));
    const address = from.socket.remoteAddress ?? "";
    const call = send({
      host: "127.0.0.1",
      port: workers[turn++ % workers.length],
      method: from.method,
      path: from.url,
      headers: { ...headers, "cf-connecting-ip": visitorOf(from, address) },
      agent,
      timeout: CALL_MS_MAX,
    });
    call.on("response", (answer) => {
      const answerHeaders = { ...answer.headers };
      for (const name of ["connection", "keep-alive"]) delete answerHeaders[name];
      to.writeHead(answer.statusCode ?? 502, answerHeaders);
      answer.pipe(to);
      answered(answer.statusCode ?? 502, answer.headers);
    });
    call.on("timeout", () => call.destroy(new Error("timeout")));
    call.on("error", (error: NodeJS.ErrnoException) => {
      const isUnsent = error.code === "ECONNREFUSED" && from.readableDidRead === false;
      if (isUnsent && attempt + 1 < workers.length) return forward(from, to, attempt + 1);
      if (to.headersSent || to.destroyed) return void to.destroy(); // the caller may have left
      const body = { title: "The service is starting or busy", status: 503, code: "overloaded", error: "Try again." };
      to.writeHead(503, {
        "content-type": "application/problem+json",
        "retry-after": "1",
        "cache-control": "no-store",
      });
      to.end(JSON.stringify(body));
      answered(503, {});
    });
    to.on("close", () => void (to.writableFinished || call.destroy()));
    if (from.method === "GET" || from.method === "HEAD") call.end();
    else from.pipe(call);
  };

  const server = createServer((from, to) => (API.test(from.url ?? "") ? forward(from, to) : servePage(from, to)));
  server.listen({ host, port });
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close(); // calls under way end
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), CLOSE_MS).unref();
      await closed;
      agent.destroy();
    },
  };
}

/** The caller's address. A proxy on this machine tells it; nobody else is believed. */
function visitorOf(from: IncomingMessage, address: string): string {
  const isProxy = /^(::ffff:)?127\.|^::1$/.test(address);
  const told = String(from.headers["x-forwarded-for"] ?? "")
    .split(",")
    .at(-1)!
    .trim();
  return isProxy && told !== "" ? told.slice(0, 64) : address;
}
