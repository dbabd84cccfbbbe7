/** Where references of a request find their values: in the call, and in the version's attributes of an item. */
import { storedValueAt } from "../attribute-values.ts";
import type { TableColumn } from "../attributes.ts";
import { namedColumn } from "../filter/named-column.ts";
import type { Reference, ReferenceValue, Scalar } from "../filter/references.ts";
import type { ReferenceValues } from "../filter/resolve-filter.ts";
import { INTEGER, type ItemId, type ItemIndex, type UserId } from "../ids.ts";
import { NO_PLACE, placeAt } from "../place.ts";
import type { SentValues } from "../reference-fields.ts";
import type { KnownNames } from "../snapshot.ts";

/** The parts of a request that references take values from. */
export type ReferenceSources = {
  readonly userId: UserId | undefined;
  /** The user's attributes, as sent in the call. */
  readonly user?: SentValues | undefined;
  readonly context?: SentValues | undefined;
  /** Items are ranked by likeness to this one, the last of a basket. Absent: they are ranked by the user's history. */
  readonly similarTo?: ItemId | undefined;
};

/** The name of `{"$user": "id"}`. */
export const USER_ID = "id";

export const callValues =
  ({ userId, user, context, similarTo }: ReferenceSources, version: KnownNames): ReferenceValues =>
  (reference, attribute) => {
    const { from, name } = reference;
    if (from === "item") {
      const column = columnOf(reference, version);
      const item = similarTo === undefined ? undefined : version.indexOf(similarTo);
      return item === undefined ? undefined : valueOfItem(column, item, reference);
    }
    if (from === "context") return sentValue(context, name);
    if (name !== USER_ID) return sentValue(user, name);
    return userId && (isNumerical(version, attribute) ? numberOf(userId) : userId);
  };

/** A value of the right type for every reference, so that a request can be checked before there are values. */
export const presentValues =
  (version: KnownNames): ReferenceValues =>
  (reference, attribute) => {
    const { from, name } = reference;
    if (from === "item") return sampleOf(columnOf(reference, version), reference);
    if (from === "user" && name === USER_ID) return isNumerical(version, attribute) ? 0 : "";
    const column = version.attributes?.columns.get(attribute);
    return column ? [sampleOf(column, reference)].flat()[0] : "";
  };

/** Throws Problem unknown_attribute. */
const columnOf = ({ name, pointer }: Reference, { attributes }: KnownNames): TableColumn =>
  namedColumn(attributes, name, `${pointer}/$item`);

/** No attribute has its name from the prototype of objects. */
const sentValue = (sent: SentValues | undefined, name: string): ReferenceValue | undefined =>
  sent && Object.hasOwn(sent, name) ? (sent[name] ?? undefined) : undefined;

/**
 * Undefined if the item has no value; a list without elements is none. A place gives its latitude and longitude where these are asked
 * for: `{"place": {"$near": {"lat": {"$item": "place"}, "lon": {"$item": "place"}, "km": 5}}}`.
 */
function valueOfItem(column: TableColumn, item: ItemIndex, { pointer }: Reference): ReferenceValue | undefined {
  if (column.type === "Location" && column.lat[item] !== NO_PLACE) {
    const { lat, lon } = placeAt(column, item);
    if (pointer.endsWith("/lat")) return lat;
    if (pointer.endsWith("/lon")) return lon;
  }
  const value = storedValueAt(column, item);
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value;
}

const isNumerical = ({ attributes }: KnownNames, attribute: string): boolean =>
  attributes?.columns.get(attribute)?.type === "Numerical";

/** An id as a column of numbers holds it; NaN, which equals none of them, if it is no such number. */
const numberOf = (id: UserId): number =>
  INTEGER.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : Number.NaN;

function sampleOf({ type }: TableColumn, { pointer }: Reference): Scalar | readonly Scalar[] {
  if (type === "Location") return /\/(lat|lon|km)$/.test(pointer) ? 0 : "";
  if (type === "Boolean") return true;
  if (type === "Numerical" || type === "Timestamp") return 0;
  return type === "CategoryList" ? [""] : "";
}
