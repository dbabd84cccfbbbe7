/**
 * The back end of a shop: the key stays here, and pages only learn the lists of the user who is signed in. It runs on Workers, Node,
 * Deno and Bun. SHORTLIST_EDGE and SHORTLIST_KEY are its settings.
 */
import { type Context, Hono } from "hono";
import { env } from "hono/adapter";
import { Shortlist, ShortlistError } from "../shortlist.ts"; // elsewhere: from "shortlist-client"

const MODEL = "shop";
const app = new Hono();

const shortlist = (c: Context) => {
  const { SHORTLIST_EDGE, SHORTLIST_KEY } = env<{ SHORTLIST_EDGE: string; SHORTLIST_KEY: string }>(c);
  return new Shortlist({ url: SHORTLIST_EDGE, apiKey: SHORTLIST_KEY, timeoutMs: 1000 });
};
/** Stands for your sessions; undefined for visitors. */
const userOf = (c: Context) => c.req.header("x-signed-in-user");

app.get("/for-you", async (c) =>
  c.json(await shortlist(c).rank(MODEL, { user_id: userOf(c), limit: 12, return: ["metadata"] })),
);
app.get("/items/:id/similar", async (c) =>
  c.json(await shortlist(c).similarItems(MODEL, { item_id: c.req.param("id"), limit: 6, return: ["metadata"] })),
);
app.post("/items/:id/views", async (c) => {
  const user_id = userOf(c);
  if (user_id) await shortlist(c).events({ user_id, item_id: c.req.param("id"), type: "view" });
  return c.body(null, 204);
});
app.onError((error, c) => {
  console.error(error);
  // A page without recommendations is better than no page.
  return c.json({ items: [] }, error instanceof ShortlistError && error.status === 404 ? 404 : 503);
});

export default app;
