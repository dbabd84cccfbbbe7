/** Which attributes of an item hold its title, picture, price and address. Guessed by their names. */
export type Attributes = Readonly<Record<string, unknown>>;

export const TITLE_NAMES =
  /^((item|product|article|book|movie|film|song|track|anime|game|course|recipe|venue|place)[ _-]?)?(title|name)$|^headline$/i;
const PICTURE = /image|img|picture|photo|thumb|poster|cover/i;
const PRICE = /^(price|sale_price|item_price|product_price)$/i;
const LINK = /^(url|link|href|item_url|product_url|page_url|permalink)$/i;
/** A number of pictures is no picture. */
const ADDRESS = /^(https?:\/\/|\/)/i;

const named = (attributes: Attributes, names: RegExp, values: RegExp = /./s): string | undefined =>
  Object.keys(attributes).find((name) => names.test(name) && values.test(String(attributes[name] ?? "")));

export const titleName = (attributes: Attributes): string | undefined => named(attributes, TITLE_NAMES);
export const pictureName = (attributes: Attributes, addresses = ADDRESS): string | undefined =>
  named(attributes, PICTURE, addresses);
export const priceName = (attributes: Attributes): string | undefined => named(attributes, PRICE);
export const linkName = (attributes: Attributes): string | undefined => named(attributes, LINK, ADDRESS);
