import { z } from "zod";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { StageError } from "../../../stage/stage-error.ts";

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
  const parsed = BigQueryConfig.safeParse(config);
  if (parsed.success) return { projectId: parsed.data.project_id, location: parsed.data.location };
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`);
  throw new StageError(
    "fetching",
    "bad_connector_config",
    `The BigQuery connector's configuration is wrong: ${faults.join("; ")}`,
  );
}
