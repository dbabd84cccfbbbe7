/** The API key that is signed in with, and the page that the address names. */
import { computed, signal } from "@preact/signals";
import { Shortlist } from "../client/shortlist.ts";

const KEY = "shortlist-key";

/** The address is `/#/models/shop/try?user=u17`. A `key` in it is taken into the tab's storage and removed from the address. */
export const page = signal(readAddress());
/** Only this tab keeps the key, until it is closed. */
export const apiKey = signal(sessionStorage.getItem(KEY) ?? "");

/** A page says at once what is away, instead of waiting for further attempts. It reads again by itself. */
class ConsoleClient extends Shortlist {
  override call<Answer>(method: string, path: string, request: Parameters<Shortlist["call"]>[2] = {}): Promise<Answer> {
    return super.call(method, path, { ...(method === "GET" && { attemptsMax: 1 }), ...request });
  }
}

export const client = computed(() => new ConsoleClient({ url: location.origin, apiKey: apiKey.value }));

addEventListener("hashchange", () => {
  page.value = readAddress();
});

export function signIn(key: string): void {
  sessionStorage.setItem(KEY, key);
  apiKey.value = key;
}

export function signOut(): void {
  sessionStorage.clear();
  apiKey.value = "";
}

export const goTo = (path: string): void => {
  location.hash = path;
};

export const modelPath = (name: string, room = ""): string =>
  `/models/${encodeURIComponent(name)}${room && `/${room}`}`;

/** The link to an item's page. */
export const itemPath = (model: string, id: string | number): string =>
  `#${modelPath(model, `items/${encodeURIComponent(id)}`)}`;

function readAddress() {
  const [path = "", search = ""] = location.hash.slice(1).split("?");
  const query = new URLSearchParams(search);
  const key = query.get("key");
  if (key !== null) {
    sessionStorage.setItem(KEY, key);
    query.delete("key");
    history.replaceState(null, "", `#${path}${query.size > 0 ? `?${query}` : ""}`);
  }
  return { steps: path.split("/").filter(Boolean).map(decoded), query };
}

/** The text as it stands if it is not valid percent-encoding, as in a mistyped address. */
function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
