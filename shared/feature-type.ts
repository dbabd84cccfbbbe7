import * as z from "zod";

/** The types of attributes of items and users. Places are `Location`. `Vector`: only items have it, and only training reads it. */
export const FeatureType = z.enum([
  "Category",
  "CategoryList",
  "Numerical",
  "Boolean",
  "Timestamp",
  "Text",
  "Location",
  "Vector",
]);
export type FeatureType = z.infer<typeof FeatureType>;
