import { z } from "zod";

/** The types of attributes of items and users. Places are `Location`. */
export const FeatureType = z.enum([
  "Category",
  "CategoryList",
  "Numerical",
  "Boolean",
  "Timestamp",
  "Text",
  "Location",
]);
export type FeatureType = z.infer<typeof FeatureType>;
