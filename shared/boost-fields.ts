/** The boosts of a request: of items that match a query, or by a number of each item. */
import * as z from "zod";
import { NEAR_SCHEMA, RETRIEVAL_REF } from "./filter/filter-schema.ts";
import { parseFilter } from "./filter/parse-filter.ts";
import { KM_MAX } from "./place.ts";
import { type Boost, placeNear } from "./rank/compile-boost.ts";

const BY_MAX = 10;
const HALF_LIFE_DAYS_MAX = 36_500;

export const BoostField = z
  .strictObject({
    retrieval: z.record(z.string(), z.unknown()).optional().meta({ $ref: RETRIEVAL_REF }),
    attribute: z.string().max(1000).optional(),
    half_life_days: z.number().positive().max(HALF_LIFE_DAYS_MAX).optional(),
    /** Checked by its own parser, since its numbers may be references. */
    near: z
      .unknown()
      .optional()
      .meta({
        ...NEAR_SCHEMA,
        description: "A place. Its numbers may be references.",
        examples: [{ lat: 52.52, lon: { $context: "lon", default: 13.4 } }],
      }),
    half_km: z.number().positive().max(KM_MAX).optional(),
    by: z.number().min(-BY_MAX).max(BY_MAX),
  })
  .superRefine(({ retrieval, attribute, half_life_days, near, half_km }, context) => {
    const fault = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
    if (retrieval === undefined && attribute === undefined) {
      const message = "is required, or attribute in its place";
      context.addIssue({ code: "invalid_type", expected: "record", input: undefined, path: ["retrieval"], message });
    }
    if ((near === undefined) !== (half_km === undefined))
      fault(near === undefined ? "near" : "half_km", "is required: near and half_km stand together");
    if (near !== undefined && half_life_days !== undefined) fault("near", "may not be beside half_life_days");
    if (retrieval === undefined) return;
    if (attribute !== undefined) fault("attribute", "may not be beside retrieval: send two boosts");
    if (half_life_days !== undefined) fault("half_life_days", "is only for boosts of an attribute");
    if (near !== undefined) fault("near", "is only for boosts of an attribute");
  });

export const BOOST_DESCRIPTION =
  `\`by\`, from −${BY_MAX} to ${BY_MAX}, is added to the scores of the items that match \`retrieval\`. Its unit is the standard ` +
  "deviation of the catalog's scores. In place of `retrieval`, a boost may have the `attribute` of a number or a time: `by` is then " +
  "multiplied by its z-score, the number of standard deviations above its mean in the catalog. With `half_life_days`, the attribute is a " +
  "time, and `by` is halved each time that these days have passed since it; a time in the future counts as now. With `near` and " +
  "`half_km`, the attribute is a place, and `by` is halved with each `half_km` of distance. Items without a value get nothing.";
export const BOOST_EXAMPLES = [
  [
    { retrieval: { category: "lamps" }, by: 0.5 },
    { attribute: "price", by: -0.3 },
  ],
];

/** The boost at a position of a request. Throws Problem for its query. */
export function boostAt(boost: z.output<typeof BoostField>, at: number): Boost {
  const { retrieval, attribute, half_life_days, near, half_km, by } = boost;
  const pointer = `/boosts/${at}`;
  if (retrieval !== undefined) return { filter: parseFilter(retrieval, `${pointer}/retrieval`), by };
  const number = { attribute: attribute!, by, pointer };
  if (near === undefined) return { ...number, halfLifeDays: half_life_days };
  const parsed = { ...number, near, halfKm: half_km! };
  placeNear(parsed, (reference) => reference.fallback ?? Number.NaN); // throws Problem for a wrong form
  return parsed;
}
