import * as z from "zod";

const Location = z.string('must be a file or a pattern such as "shop/*.csv"').min(1, "must not be empty").max(1000);
const TABLES_MAX = 100;

/** Files below the folders that the operator allows for the customer. Either `location` or `tables` is given. */
export const FileConfig = z
  .strictObject({
    id: z.string().optional(),
    type: z.literal("File"),
    /** A file or a pattern; each file is a table of its own. */
    location: Location.optional(),
    /** Tables by name, each a file, a folder or a pattern whose files are one table. */
    tables: z
      .record(z.string().min(1).max(100), Location)
      .refine((tables) => Object.keys(tables).length > 0, "must name a table")
      .refine((tables) => Object.keys(tables).length <= TABLES_MAX, `must name at most ${TABLES_MAX} tables`)
      .refine(
        (tables) => new Set(Object.keys(tables).map((name) => name.toLowerCase())).size === Object.keys(tables).length,
        "must not name a table twice, in upper and lower case",
      )
      .optional(),
  })
  .refine(({ location, tables }) => location !== undefined || tables !== undefined, {
    message: 'must be a file or a pattern such as "shop/*.csv"; "tables" instead makes many files one table',
    path: ["location"],
  })
  .refine(({ location, tables }) => location === undefined || tables === undefined, {
    message: 'must not be given beside "tables"',
    path: ["location"],
  });
