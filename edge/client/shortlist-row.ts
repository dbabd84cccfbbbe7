/** `<shortlist-row model="shop" user="u17">`: a ranked list as a row of cards. README.md describes its attributes. */

import { PageClient } from "./page-client.ts";
import type { Detailed, RankRequest, SimilarItemsRequest } from "./requests-and-answers.ts";
import { ROW_FIELDS, valueIn } from "./row-attributes.ts";
import { cardOf, filled, type Look, made, type RowItem, shownItem } from "./row-card.ts";
import { ROW_STYLE } from "./row-style.ts";

type Request = Detailed<RankRequest> & Detailed<SimilarItemsRequest>;

const LOOKS = ["heading", "href", "currency", "show-title", "show-picture", "show-price", "show-link"];
/** Page-wide defaults may stand in `<meta name="shortlist-key" content="…">`. */
const SETTINGS = ["edge", "key", "user-signature", "model", "user", "session-id"];
const BLANKS_MAX = 12;
const BLANKS_DEFAULT = 6;
/** The impressions of several rows become one request. */
const BATCH_MS = 300;

const clients = new Map<string, PageClient>();

let sheet: CSSStyleSheet | undefined;

/** A server that renders pages has no HTMLElement, but may import this file. */
const BaseElement = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/**
 * Events, all of which bubble: `shortlist-load` with the answer, `shortlist-click` with the item (cancelable), `shortlist-error` with
 * a ShortlistError. An error shows nothing.
 */
export class ShortlistRow extends BaseElement {
  static readonly observedAttributes = [...new Set([...Object.keys(ROW_FIELDS), ...LOOKS, ...SETTINGS, "request"])];
  #root = this.attachShadow({ mode: "open" });
  /** The page's own markup of items, which is shown in slots. */
  #own: HTMLElement[] = [];
  #loading: AbortController | undefined;
  #isPlanned = false;
  #observer: IntersectionObserver | undefined;

  connectedCallback(): void {
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(ROW_STYLE);
    }
    this.#root.adoptedStyleSheets = [sheet];
    this.refresh();
  }

  disconnectedCallback(): void {
    this.#loading?.abort();
    this.#observer?.disconnect();
  }

  attributeChangedCallback(): void {
    this.refresh();
  }

  /** Loads the list again, as after an event that changes it. Several calls at once are one. */
  refresh(): void {
    if (this.#isPlanned || !this.isConnected) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      if (this.isConnected) void this.#load();
    });
  }

  async #load(): Promise<void> {
    this.#loading?.abort();
    this.#loading = new AbortController();
    const { signal } = this.#loading;
    try {
      if (!this.#root.querySelector("li")) this.#showBlanks();
      const body = this.#request();
      const [client, model] = [this.#client(), this.#setting("model") ?? ""];
      const ranked = await (this.#isOfSimilar()
        ? client.similarItems(model, body, { signal })
        : client.rank(model, body, { signal }));
      if (signal.aborted) return;
      this.#show(ranked.items, ranked.rank_id);
      this.#dispatch("load", ranked);
    } catch (error) {
      if (signal.aborted) return;
      this.#clear();
      this.#dispatch("error", error);
    }
  }

  #isOfSimilar(): boolean {
    return this.hasAttribute("item") || this.hasAttribute("items");
  }

  #request(): Request {
    const fields = Object.entries(ROW_FIELDS).flatMap(([name, [field, kind]]) => {
      // Similar items are in no experiment. The page may name a session for its other rows.
      const text = name === "session-id" && this.#isOfSimilar() ? "" : this.#setting(name);
      return text ? [[field, valueIn(text, kind, name)] as const] : [];
    });
    const others = valueIn(this.getAttribute("request") || "{}", "json", "request") as object;
    return { ...others, ...Object.fromEntries(fields), return: ["metadata"] } as unknown as Request;
  }

  /** Rows with the same key share a client, and with it the requests that send events. */
  #client(): PageClient {
    const url = this.#setting("edge") ?? new URL(import.meta.url).origin;
    const [apiKey, signature] = [this.#setting("key") ?? "", this.#setting("user-signature")];
    const name = JSON.stringify([url, apiKey, signature]);
    const headers = signature ? { "x-user-signature": signature } : {};
    const client = clients.get(name) ?? new PageClient({ url, apiKey, headers, batchMs: BATCH_MS });
    clients.set(name, client);
    return client;
  }

  #setting(name: string): string | null | undefined {
    const meta = () => document.querySelector<HTMLMetaElement>(`meta[name="shortlist-${name}"]`)?.content;
    return this.getAttribute(name) ?? (SETTINGS.includes(name) ? meta() : null);
  }

  #showBlanks(): void {
    const count = Math.min(BLANKS_MAX, Number(this.getAttribute("limit")) || BLANKS_DEFAULT);
    const blanks = Array.from({ length: count }, () => {
      const blank = made("li", "item");
      blank.append(made("span", "frame"), made("p", "title"));
      return blank;
    });
    const { row, list } = this.#clear();
    list.classList.add("blank");
    list.setAttribute("aria-hidden", "true");
    list.append(...blanks);
    row.setAttribute("aria-busy", "true");
    this.#root.append(row);
  }

  #show(items: readonly RowItem[], rankId: string): void {
    const { row, list } = this.#clear();
    const template = this.querySelector<HTMLTemplateElement>(":scope > template");
    const look: Look = {
      nameOf: (kind) => this.getAttribute(`show-${kind}`),
      href: this.getAttribute("href"),
      currency: this.getAttribute("currency"),
      language: this.closest<HTMLElement>("[lang]")?.lang || undefined,
    };
    for (const [at, item] of items.entries()) {
      const entry = made("li", "item");
      const shown = shownItem(item, look);
      if (template) {
        const [slot, own] = [document.createElement("slot"), document.createElement("div")];
        slot.name = own.slot = `item-${at}`;
        own.append(filled(template, shown));
        this.#own.push(own);
        entry.append(slot);
      } else entry.append(cardOf(shown));
      for (const type of ["click", "auxclick"])
        entry.addEventListener(type, (event) => this.#clicked(event as MouseEvent, item, rankId));
      list.append(entry);
    }
    this.append(...this.#own);
    if (items.length > 0) this.#root.append(row);
    this.#watch(list, items, rankId);
  }

  /** Removes what is shown. Returns an empty row, which is not yet part of the page. */
  #clear() {
    this.#observer?.disconnect();
    for (const own of this.#own.splice(0)) own.remove();
    this.#root.replaceChildren();
    const [row, list] = [made("section", "row"), made("ol", "list")];
    list.setAttribute("role", "list"); // which Safari forgets of lists without markers
    const heading = document.createElement("slot");
    heading.name = "heading";
    const text = this.getAttribute("heading");
    if (text) heading.append(made("h2", "heading", text));
    if (text || this.querySelector(":scope > [slot=heading]")) row.setAttribute("aria-labelledby", "heading");
    const top = made("div", "top");
    top.id = "heading";
    top.append(heading);
    row.append(top, list);
    return { row, list };
  }

  /** An item counts as shown once half of it has been in sight. */
  #watch(list: HTMLElement, items: readonly RowItem[], rankId: string): void {
    const left = new Map([...list.children].map((entry, at) => [entry, items[at]!]));
    this.#observer = new IntersectionObserver(
      (entries, observer) => {
        for (const { target, isIntersecting } of entries) {
          const item = left.get(target);
          if (!isIntersecting || !item) continue;
          left.delete(target);
          observer.unobserve(target);
          void this.#send(this.getAttribute("impression") ?? "impression", item, rankId);
        }
      },
      { threshold: 0.5 },
    );
    for (const entry of left.keys()) this.#observer.observe(entry);
  }

  /** Only links and buttons are clicked. One with `data-shortlist-event` sends that type. */
  #clicked(event: MouseEvent, item: RowItem, rankId: string): void {
    if (event.type === "auxclick" && event.button !== 1) return; // the middle button opens a link
    const target = event.target as HTMLElement;
    if (!target.closest("a[href],button")) return;
    const own = target.closest<HTMLElement>("[data-shortlist-event]")?.dataset.shortlistEvent;
    const type = own ?? this.getAttribute("click") ?? "click";
    const stored = this.#send(type, item, rankId);
    if (!this.#dispatch("click", { ...item, rank_id: rankId, type, stored })) event.preventDefault();
  }

  /** Nothing is sent without a user, whose event it would be. */
  async #send(type: string, { item_id }: RowItem, rank_id: string): Promise<void> {
    const user_id = this.#setting("user");
    if (!type || !user_id) return;
    try {
      await this.#client().events({ user_id, item_id, type, rank_id });
    } catch (error) {
      this.#dispatch("error", error);
    }
  }

  /** False if the page has prevented the default action. */
  #dispatch(name: string, detail: unknown): boolean {
    return this.dispatchEvent(
      new CustomEvent(`shortlist-${name}`, { detail, bubbles: true, composed: true, cancelable: name === "click" }),
    );
  }
}

if (globalThis.customElements && !customElements.get("shortlist-row"))
  customElements.define("shortlist-row", ShortlistRow);

declare global {
  interface HTMLElementTagNameMap {
    "shortlist-row": ShortlistRow;
  }
}
