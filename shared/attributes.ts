/** Typed attribute columns of items or users, aligned with their indices. Missing values are explicit. */
export type AttributeColumn =
  | { readonly name: string; readonly type: "Numerical" | "Timestamp"; readonly values: Float64Array } // [count] NaN: missing; Timestamp in epoch seconds
  | { readonly name: string; readonly type: "Boolean"; readonly values: Uint8Array } // [count] 0 false, 1 true, 255 missing
  | {
      readonly name: string;
      readonly type: "Category" | "CategoryList" | "Text";
      readonly dictionary: readonly string[];
      /** Row r's values are codes[start[r]] … codes[start[r + 1] − 1]; Category has at most one, none is missing. */
      readonly start: Uint32Array; // [count + 1]
      readonly codes: Uint32Array;
    };

/** The attributes of all items, compact: what an edge holds in memory and the matcher reads. */
export type AttributeTable = { readonly itemCount: number; readonly columns: ReadonlyMap<string, unknown> };

export function encodeAttributes(_columns: readonly AttributeColumn[], _itemCount: number): Uint8Array {
  throw new Error("not built yet");
}

/** Throws FormatError. */
export function decodeAttributes(_bytes: Uint8Array): AttributeTable {
  throw new Error("not built yet");
}
