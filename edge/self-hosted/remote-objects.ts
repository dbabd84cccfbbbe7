/**
 * Durable Objects in another process of the same machine. Where several processes run the Worker, each object may exist only once: one
 * has all objects, and the others call their methods by HTTP on loopback. Arguments and results are JSON.
 */
import type { Bindings } from "../env.ts";

/** Where the objects are, and the secret that their process asks for. */
export type ObjectHome = { readonly origin: string; readonly secret: string };

type Namespace = { getByName(name: string): Readonly<Record<string, (...values: unknown[]) => Promise<unknown>>> };

const PATH = "/objects/";
const SECRET = "x-object-secret";
/** Names of RPC methods. It excludes `fetch` and `alarm`, which the runtime calls. */
const METHOD = /^(?!fetch$|alarm$|then$|constructor$)[a-z][A-Za-z]*$/;

/** A namespace of objects, such as the binding EVENTS, whose objects are in the process at `home`. */
export function remoteObjects({ origin, secret }: ObjectHome, binding: string): Namespace {
  const call = async (name: string, method: string, values: readonly unknown[]) => {
    const path = [binding, name, method].map(encodeURIComponent).join("/");
    const init = { method: "POST", headers: { [SECRET]: secret }, body: JSON.stringify(values) };
    const response = await fetch(`${origin}${PATH}${path}`, init);
    if (!response.ok) throw new Error(`the process with the objects answered ${response.status}`);
    const { result, error } = (await response.json()) as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  };
  return {
    getByName: (name) =>
      new Proxy(
        {},
        {
          get: (_, method) =>
            typeof method === "string" && METHOD.test(method)
              ? (...values: unknown[]) => call(name, method, values)
              : undefined,
        },
      ),
  };
}

/** Answers such a call in the process that has the objects; undefined for any other request. */
export async function answerObjectCall(request: Request, env: Bindings, secret: string): Promise<Response | undefined> {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith(PATH)) return undefined;
  const [binding, name, method] = pathname.slice(PATH.length).split("/").map(decodeURIComponent);
  if (request.headers.get(SECRET) !== secret || !METHOD.test(method ?? "")) return new Response(null, { status: 404 });
  try {
    const object = (env[binding!] as Namespace).getByName(name!);
    return Response.json({ result: await object[method!]!(...((await request.json()) as unknown[])) });
  } catch (error) {
    return Response.json({ error: error instanceof Error ? error.message : String(error) });
  }
}
