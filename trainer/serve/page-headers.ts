import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MiddlewareHandler } from "hono";

/** The headers that the file `_headers` gives pages, in the form of Cloudflare's static assets: a path, then indented headers. */
export async function pageHeaders(folder: string): Promise<MiddlewareHandler> {
  const blocks = (await readFile(join(folder, "_headers"), "utf8")).split(/\n(?=\S)/).map((block) => {
    const [path = "", ...lines] = block.trim().split(/\n\s*/);
    const headers = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
    return { path: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("*", ".*")}$`), headers };
  });
  return async (c, next) => {
    await next();
    for (const { path, headers } of blocks)
      if (path.test(c.req.path)) for (const [name, value] of headers) c.header(name!, value!);
  };
}
