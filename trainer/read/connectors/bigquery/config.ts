import * as z from "zod";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { parseConfig } from "../source-error.ts";

export const BigQueryConfig = z.strictObject({
  id: z.string().optional(),
  type: z.literal("BigQuery"),
  /** The project that runs the query jobs and pays for them. */
  project_id: z
    .string("must be a project id such as my-shop-123")
    .regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/, "must be a project id such as my-shop-123"),
  /** Where the datasets are: `EU`, `US` or a region. Jobs run only there. */
  location: z
    .string('must be a location such as "EU" or "europe-west1"')
    .regex(/^[A-Za-z][A-Za-z0-9-]{1,39}$/, 'must be a location such as "EU" or "europe-west1"'),
});

export type BigQueryTarget = { readonly projectId: string; readonly location: string };

/** Throws StageError `bad_connector_config`. */
export function parseBigQueryConfig(config: ConnectorConfig): BigQueryTarget {
  const { project_id: projectId, location } = parseConfig(config, BigQueryConfig);
  return { projectId, location };
}
