/** One item of a row as DOM nodes. Values of items become text, or addresses of http and https: never markup or script. */
import { type Attributes, linkName, pictureName, priceName, titleName } from "./shown-attributes.ts";

export type RowItem = { readonly item_id: string | number; readonly metadata?: Attributes | undefined };

/** How an item is shown. */
export type Look = {
  /** The name of the attribute that holds a title, picture, price or link, where it is not to be guessed. */
  readonly nameOf: (kind: string) => string | null;
  /** An address in which `{item_id}` stands for the item. */
  readonly href: string | null;
  readonly currency: string | null;
  readonly language: string | undefined;
};

export type Shown = ReturnType<typeof shownItem>;

/** What a card shows of an item. Throws RangeError for a currency that does not exist. */
export function shownItem({ item_id, metadata = {} }: RowItem, { nameOf, href, currency, language }: Look) {
  const attributeOf = (kind: string, guess: (attributes: Attributes) => string | undefined) =>
    metadata[nameOf(kind) ?? guess(metadata) ?? ""];
  const price = attributeOf("price", priceName);
  const style = currency ? ({ style: "currency", currency } as const) : {};
  return {
    ...metadata,
    item_id,
    title: attributeOf("title", titleName) ?? item_id,
    picture: addressOf(attributeOf("picture", pictureName)),
    price: typeof price === "number" ? new Intl.NumberFormat(language, style).format(price) : price,
    link: addressOf(href?.replaceAll("{item_id}", encodeURIComponent(item_id)) ?? attributeOf("link", linkName)),
  };
}

/** The card of an item for which the page has no markup of its own. */
export function cardOf({ picture, title, price, link }: Shown): HTMLElement {
  const card = link ? made("a", "card") : made("button", "card");
  if (card instanceof HTMLAnchorElement) card.href = link!;
  else (card as HTMLButtonElement).type = "button";
  const frame = made("span", "frame");
  if (picture) {
    const image = made("img", "picture") as HTMLImageElement;
    image.alt = ""; // the title follows
    image.loading = "lazy";
    image.src = picture;
    frame.append(image);
  }
  card.append(frame, made("span", "title", title));
  if (price != null) card.append(made("span", "price", price));
  return card;
}

/** The page's own markup, with the item's values where `data-text`, `data-alt`, `data-src` and `data-href` name them. */
export function filled(template: HTMLTemplateElement, item: Shown): DocumentFragment {
  const copy = document.importNode(template.content, true);
  for (const element of copy.querySelectorAll<HTMLElement>("[data-text],[data-alt],[data-src],[data-href]")) {
    const { text, alt, src, href } = element.dataset;
    const fieldOf = (name: string) => (Object.hasOwn(item, name) ? (item as Attributes)[name] : undefined);
    if (text) element.textContent = textOf(fieldOf(text));
    if (element instanceof HTMLImageElement && alt) element.alt = textOf(fieldOf(alt));
    const address = addressOf(fieldOf(src ?? href ?? ""));
    if (element instanceof HTMLImageElement && address) element.src = address;
    if (element instanceof HTMLAnchorElement && address) element.href = address;
  }
  return copy;
}

/** An element with a class, which is its part for the page's style sheets too. */
export function made(tag: string, part: string, text?: unknown): HTMLElement {
  const element = document.createElement(tag);
  element.className = part;
  element.setAttribute("part", part);
  element.textContent = textOf(text);
  return element;
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

/** Only http and https: an address of `javascript:` would run as a script of the page. */
function addressOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value, document.baseURI)) return undefined;
  const { protocol, href } = new URL(value, document.baseURI);
  return /^https?:$/.test(protocol) ? href : undefined;
}
