import { looksLikeTime } from "./time-formats.ts";

/** The roles of a table's columns, guessed from their names. */
export type ColumnGuess =
  | {
      readonly kind: "guessed";
      readonly user: string;
      readonly item: string;
      /** Null: no column looks like a time. */
      readonly time: string | null;
      /** Null: no column looks like a label, so every row is positive. */
      readonly label: string | null;
    }
  | { readonly kind: "unclear"; readonly reasons: readonly string[] };

export type GivenColumns = { readonly [role in Role]?: string | undefined };

type Role = "user" | "item" | "time" | "label";

/** Names of sessions, which are the users of a file that has no other user column. */
const SESSION = words("session_id session sessionid sid user_session");

/** Names of orders, whose items are one session where nothing says who ordered. */
const BASKET = words(
  "basket_id basket order_id orderid order_number order_no order_nr transaction_id transaction receipt_id receipt_no receipt",
  "invoice_no invoiceno invoice_id invoice ticket_id",
);

/** Where an event has a target, as in PredictionIO, the entity is its user; else it is an item. */
const [ENTITY, TARGET] = ["entity_id", "target_entity_id"] as const;

const ITEM_IDS = words(
  "item_id item iid itemid item_key item_code item_number item_no item_idx item_index item_uuid product_id product productid",
  "prod_id sku sku_id lineitem_sku item_sku product_sku variant_sku stock_code stockcode article_id article articleid",
  "item_objectid asin parent_asin movie_id movie movieid film_id film",
  "track_id track song_id song artist_id artist album_id video_id video show_id book_id book isbn game_id game app_id appid",
  "anime_id recipe_id restaurant_id business_id venue_id poi_id location_id place_id listing_id property_id hotel_id job_id",
  "course_id news_id post_id page_id content_id document_id doc_id ad_id offer_id story_id variant_id title_id gmap_id",
  `${TARGET} ${ENTITY} object_id artikel artikel_id artikelnummer artikel_nr produkt produkt_id`,
  "produit produit_id producto producto_id produto produto_id prodotto prodotto_id aid i",
);
/** Where nothing else tells items apart. */
const TITLES = words(
  "product_name item_name product_title item_title movie_title movie_name book_title book_name song_name track_name course_title",
  "course_name game_title game_name recipe_title recipe_name article_title anime_name hotel_name restaurant_name",
  "url page_url page_path webpage",
);

/** Common names, the most specific first, in lower case with `_` between words, as plainName writes them. */
const NAMES: Readonly<Record<Role, readonly string[]>> = {
  user: words(
    "user_id user uid userid user_key user_code user_number user_no user_hash user_idx user_index user_uuid user_guid username u_id",
    "visitor_id visitor visitorid fullvisitorid full_visitor_id customer_id customer customerid cust_id client_id client clientid",
    "customer_no customer_number customer_code user_objectid",
    "account_id account member_id member buyer_id buyer buyer_username shopper_id reviewer_id reviewerid reviewer author_id subscriber_id",
    "viewer_id listener_id reader_id player_id person_id person profile_id msno household_id household_key user_pseudo_id distinct_id",
    "kunde kunden_id kundennummer kunden_nr benutzer benutzer_id nutzer nutzer_id utilisateur utilisateur_id usuario usuario_id",
    "cliente cliente_id utente utente_id partner_id",
    "customer_email user_email buyer_email billing_email email e_mail mail email_address",
  ).concat(SESSION, words("anonymous_id device_id cookie_id cookie u customer_name client_name buyer_name"), BASKET),
  item: [...ITEM_IDS, ...TITLES],
  time: words(
    "created_at timestamp event_time event_timestamp ts time datetime date_time date event_date interaction_time",
    "created created_time creation_time created_on time_stamp unix_timestamp unix_time epoch occurred_at happened_at",
    "purchased_at purchase_date purchase_time ordered_at order_date order_time invoice_date review_time reviewed_at unix_review_time",
    "viewed_at view_time clicked_at click_time watched_at watch_time played_at listened_at rated_at rating_timestamp rating_date",
    "date_added added_at date_created updated_at last_updated server_time event_at when day t",
  ),
  label: words(
    "label liked like is_liked positive is_positive target clicked is_clicked is_click click purchased is_purchased is_purchase",
    "converted is_converted bought is_relevant relevant favorite is_favorite rating ratings stars star_rating overall",
    "user_rating book_rating rating_score review_rating review_score score",
    "vote votes thumb thumbs reaction interaction",
  ),
};

/** In a table of orders, these may be the number of a line, and those the branch. */
const LINES = words("item_id item iid itemid item_number item_no");
const BRANCHES = words("location_id place_id venue_id poi_id");
const ITEMS_OF_ORDERS = [
  ...ITEM_IDS.filter((name) => !LINES.includes(name) && !BRANCHES.includes(name)),
  ...LINES,
  ...TITLES,
];

/** The column of users, by its name alone. */
export const guessUserColumn = (columnNames: readonly string[]): string | undefined => bestOf(NAMES.user, columnNames);

/** The column of items, by its name alone. */
export const guessItemColumn = (columnNames: readonly string[]): string | undefined => itemIn(columnNames, NAMES.item);

function itemIn(columnNames: readonly string[], names: readonly string[]): string | undefined {
  const columns = columnNames.filter((column) => !LINE_ID.test(plainName(column)));
  return bestOf(names, columns) ?? columns.find((column) => isPartOfItem(plainName(column)));
}

/** The number of a row, not of what is in it. */
const LINE_ID = /^(cart|basket|order|line|invoice|sales?|wishlist)_(item|line)_id$/;
/** What is chosen may be one form of a product: `product_size_id`. */
const isPartOfItem = (name: string) => /(^|_)(product|item|article)_\w+_id$/.test(name) && !OTHER_IDS.test(name);

const SESSION_NAMES = [...SESSION, "visit_id"];

/** The column of sessions. Where there is also a column of users, it identifies anonymous sessions. */
export const guessSessionColumn = (columnNames: readonly string[]): string | undefined =>
  bestOf(SESSION_NAMES, columnNames);

/** The column of orders. */
export const guessOrderColumn = (columnNames: readonly string[]): string | undefined => bestOf(BASKET, columnNames);

const EVENT_NAMES = words(
  "event_type event event_name action action_type behavior behavior_type behaviour behaviour_type interaction_type activity activity_type",
  "order_status payment_status financial_status type status",
);
const QUANTITY_NAMES = words("quantity qty");

/** The column that says what kind of event a row is. */
export const guessEventColumn = (columnNames: readonly string[]): string | undefined =>
  bestOf(EVENT_NAMES, columnNames);

/** The column with a number of pieces, which is below 0 for returned goods. */
export const guessQuantityColumn = (columnNames: readonly string[]): string | undefined =>
  bestOf(QUANTITY_NAMES, columnNames);

/**
 * Guesses the roles of columns that were not given, by name or position. A given column keeps its role and is guessed for no other.
 *
 * @param columnNames In the order of the table; no name twice.
 * @param sample Some rows. A column of times is then one whose values look like times, and one of users one that is mostly filled, if there
 * are such columns.
 */
export function guessColumns(
  columnNames: readonly string[],
  named: GivenColumns = {},
  sample: readonly Readonly<Record<string, unknown>>[] = [],
): ColumnGuess {
  const given = withPositions(named, columnNames);
  const unknown = Object.entries(given).filter(([, name]) => name !== undefined && !columnNames.includes(name));
  if (unknown.length > 0) {
    const reasons = unknown.map(([role, name]) => `There is no column ${JSON.stringify(name)} for the ${role}`);
    return { kind: "unclear", reasons: [...reasons, listed(columnNames)] };
  }
  const twice = Object.entries(given).flatMap(([role, name], i, all) => {
    const other = all.slice(0, i).find(([, earlier]) => name !== undefined && earlier === name);
    return other ? [`The column ${JSON.stringify(name)} is given for the ${other[0]} and for the ${role}`] : [];
  });
  if (twice.length > 0) return { kind: "unclear", reasons: twice };
  const isObject = (name: string) => sample.some((row) => typeof row[name] === "object" && row[name] !== null);
  const free = new Set(columnNames.filter((name) => !Object.values(given).includes(name) && !isObject(name)));
  const valuesOf = (column: string) =>
    sample.map((row) => row[column]).filter((value) => value !== null && value !== "");
  /** Where few people log in, others have the id of a browser only. */
  const isFilled = (column: string) => valuesOf(column).length * 2 >= sample.length;
  const are = (looksRight: (value: unknown) => boolean) => (column: string) => {
    const values = valuesOf(column);
    return values.length > 0 && values.filter(looksRight).length * 2 > values.length;
  };
  const areTimes = are(looksLikeTime);
  const areDates = are((value) => looksLikeTime(value) && !isNumber(value));
  const areOrders = guessOrderColumn(columnNames) !== undefined;
  const guess = (role: Role): string | undefined => {
    const columns = [...free];
    const names = role === "item" && areOrders ? ITEMS_OF_ORDERS : namesFor(role, columnNames);
    const times = role === "time" ? columns.filter(areTimes) : [];
    const likely = role === "user" ? columns.filter(isFilled) : times;
    const named = bestOf(names, likely) ?? (role === "item" ? itemIn(columns, names) : bestOf(names, columns));
    const found = given[role] ?? named ?? likelyTime(times, times.filter(areDates));
    if (found !== undefined) free.delete(found);
    return found;
  };
  const byName = { user: guess("user"), item: guess("item"), time: guess("time"), label: guess("label") };
  const other = areOrders ? undefined : otherId([...free], sample);
  const { user = byName.item && other, item = byName.user && other, time, label } = byName;
  if (user !== undefined && item !== undefined) {
    return { kind: "guessed", user, item, time: time ?? null, label: label ?? null };
  }
  if (columnNames.length > 0 && columnNames.every((name) => NO_NAME.test(name)))
    return { kind: "unclear", reasons: [withoutHeader(sample)] };
  const missing = [...(user === undefined ? ["user"] : []), ...(item === undefined ? ["item"] : [])];
  const reasons = missing.map((role) => `No column looks like the ${role}'s id: name it with --${role}-column`);
  return { kind: "unclear", reasons: [...reasons, listed(columnNames)] };
}

function namesFor(role: Role, columnNames: readonly string[]): readonly string[] {
  return role === "user" && bestOf([TARGET], columnNames) !== undefined ? [...NAMES.user, ENTITY] : NAMES[role];
}

/** The one column of ids of another name, such as shoe_id; of several, the one whose values repeat. */
function otherId(columns: readonly string[], sample: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  const ids = columns.filter((column) => /_id$/.test(plainName(column)) && !OTHER_IDS.test(plainName(column)));
  const repeated = ids.filter((column) => new Set(sample.map((row) => row[column])).size < sample.length);
  return [ids, repeated].find(({ length }) => length === 1)?.[0];
}

/** Ids of rows, and of what users and items belong to. */
const OTHER_IDS = new RegExp(
  words(
    "^interaction_id ^row_id ^log_id ^search_id ^request_id ^rank_id categor brand store shop_id seller vendor supplier warehouse",
    "location region country city address currency status type group department campaign parent language device staff employee manager",
    "session payment purchase shipment shipping billing coupon promo voucher",
  ).join("|"),
);

/** Times of a person or an item, not of what a person did with an item. */
const OTHER_TIMES = /birth|born|signup|sign_up|regist|joined|releas|publish|expir|deliver/;
const TIME_ENDING = /(^|_)(date|time|at|on|ts|dt|timestamp|datetime)$/;
const isNumber = (value: unknown) => typeof value !== "string" || /^\s*-?\d+(\.\d+)?\s*$/.test(value);

/** A column of times whose name ends like one, else the only column of dates: ids and prices may look like numbers of seconds. */
function likelyTime(times: readonly string[], dates: readonly string[]): string | undefined {
  const isOwn = (column: string) => !OTHER_TIMES.test(plainName(column));
  const ownDates = dates.filter(isOwn);
  return (
    times.filter(isOwn).find((column) => TIME_ENDING.test(plainName(column))) ??
    (ownDates.length === 1 ? ownDates[0] : undefined)
  );
}

/** A column of days and the one with the clocks of these days: `Date` and `Time`, or `order_date` and `order_time`. */
export function guessDayAndClock(
  columnNames: readonly string[],
  row: Readonly<Record<string, unknown>>,
): { readonly day: string; readonly clock: string } | undefined {
  const isClock = (name: string) => /^\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?\s*$/i.test(String(row[name]));
  for (const clock of columnNames.filter((name) => /(^|_)time$/.test(plainName(name)) && isClock(name))) {
    const wanted = plainName(clock).replace(/time$/, "date");
    const day = columnNames.find((name) => plainName(name) === wanted && !String(row[name]).includes(":"));
    if (day !== undefined) return { day, clock };
  }
  return undefined;
}

/** The column of a table of users or items that has the name of the ids in the interactions, also written otherwise. */
export function guessIdColumn(name: string, columnNames: readonly string[]): string | undefined {
  const bare = (column: string) => plainName(column).replaceAll("_", "");
  return columnNames.find((column) => column === name) ?? columnNames.find((column) => bare(column) === bare(name));
}

/** The column of ids of a table of users, items or orders, by its name alone. */
export const guessIdColumnByRole = (role: IdRole, columnNames: readonly string[]): string | undefined =>
  bestOf(["id", ...ID_NAMES[role]], columnNames);

export type IdRole = "user" | "item" | "order";
const ID_NAMES = { user: NAMES.user, item: ITEM_IDS, order: BASKET };

/** Names that the reader gives to the columns of a file without a header. */
const NO_NAME = /^column\d+$/;

/** Types of events in a sample are at most as many. */
const TYPES_FEW = 6;

/** Columns may be given by their positions, from 1, unless a column has such a name. */
function withPositions(given: GivenColumns, columnNames: readonly string[]): GivenColumns {
  const nameOf = (name: string | undefined) =>
    name === undefined || columnNames.includes(name) || !/^[1-9]\d*$/.test(name)
      ? name
      : (columnNames[Number(name) - 1] ?? name);
  return Object.fromEntries(Object.entries(given).map(([role, name]) => [role, nameOf(name)]));
}

function withoutHeader(sample: readonly Readonly<Record<string, unknown>>[]): string {
  const values = Object.values(sample[0] ?? {}).map((value) => value ?? "");
  const isDate = (value: unknown) => looksLikeTime(value) && !isNumber(value);
  const time = values.findLastIndex(isDate) + 1 || values.findLastIndex(looksLikeTime) + 1;
  const [user, second = 2, ...others] = values.map((_, i) => i + 1).filter((position) => position !== time);
  const varies = (position: number) => new Set(sample.map((row) => Object.values(row)[position - 1])).size > TYPES_FEW;
  const item = [second, ...others].find(varies) ?? second;
  const flags = `--user-column ${user} --item-column ${item}${time > 0 ? ` --time-column ${time}` : ""}`;
  const row = values.slice(0, 10).map(String).join(", ").slice(0, 200);
  return `The first line looks like data, not like names of columns (${row}): say which is which by position, such as ${flags}`;
}

const listed = (columnNames: readonly string[]) => `The columns are ${listOfColumns(columnNames)}`;

const LISTED_MAX = 50;

/** For messages. */
export const listOfColumns = (columnNames: readonly string[]): string =>
  columnNames
    .slice(0, LISTED_MAX)
    .map((name) => JSON.stringify(name))
    .join(", ") + (columnNames.length > LISTED_MAX ? " and others" : "");

/** Names without `_` that also end the names of columns: `cart_sku`. */
const ENDINGS = words("sku asin isbn aid product");

/** The column whose name comes first in the list; otherwise the first column that begins or ends with a longer name. */
function bestOf(names: readonly string[], columns: readonly string[]): string | undefined {
  const plain = columns.map(plainName);
  for (const name of names) {
    const found = plain.findIndex((column) => column === name || column === name.replaceAll("_", ""));
    if (found >= 0) return columns[found];
  }
  for (const name of names.filter((candidate) => candidate.includes("_"))) {
    const found = plain.findIndex((column) => column.endsWith(`_${name}`) || column.startsWith(`${name}_`));
    if (found >= 0) return columns[found];
  }
  const endings = ENDINGS.filter((name) => names.includes(name));
  return columns.find((_, i) => endings.some((name) => plain[i]!.endsWith(`_${name}`)));
}

/** Writes `reviewerID`, `Reviewer Id` and `id_reviewer` as `reviewer_id`, and drops a type after a colon, as in RecBole's files. */
function plainName(column: string): string {
  return column
    .replace(/:(token|token_seq|float|float_seq)$/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .replace(/^id_(.+)$/, "$1_id");
}

function words(...lines: readonly string[]): string[] {
  return lines.join(" ").split(" ");
}
