import { z } from "zod";

export const FileConfig = z.strictObject({
  id: z.string().optional(),
  type: z.literal("File"),
  /** A file or a glob below the folders that the operator allows for the customer. */
  location: z.string('must be a file or a pattern such as "shop/*.csv"').min(1, "must not be empty").max(1000),
});
