export type GrantPlace = {
  /** The project that runs the queries and pays for them; undefined: to be filled in. */
  readonly project: string | undefined;
  readonly dataset: string | undefined;
  /** Where the addresses are from which the trainer connects. */
  readonly egressAddresses: readonly string[];
};

/**
 * What is to be granted before this customer's BigQuery can be read, as commands to paste: by the customer to their
 * service account, and by the operator to the trainer's own identity. Roles as Google's documentation names them.
 */
export function bigqueryGrants(serviceAccount: string, { project, dataset }: GrantPlace): string {
  const [where, what] = [project ?? "PROJECT", dataset ?? "DATASET"];
  const member = `serviceAccount:${serviceAccount}`;
  const bind = (role: string) =>
    `gcloud projects add-iam-policy-binding ${where} --member=${member} --role=${role} --condition=None`;
  const home = /@([a-z][a-z0-9-]*)\.iam\.gserviceaccount\.com$/.exec(serviceAccount)?.[1];
  const missing = [project ? "" : "--project", dataset ? "" : "--dataset"].filter(Boolean).join(" and ");
  const grant = `GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`${where}.${what}\` TO "${member}"`;
  return `BigQuery: the customer grants that account the right to run queries, to read the dataset, and to read results fast
(without the last one, results come over REST, more slowly)${missing ? `; ${missing} fill in the names` : ""}:

  ${bind("roles/bigquery.jobUser")}
  bq query --project_id=${where} --use_legacy_sql=false '${grant}'
  ${bind("roles/bigquery.readSessionUser")}

and the operator lets the trainer's own identity (whose credentials GOOGLE_APPLICATION_CREDENTIALS names) act as it:

  gcloud iam service-accounts add-iam-policy-binding ${serviceAccount}${home ? ` --project=${home}` : ""} \\
    --member=serviceAccount:TRAINER_IDENTITY --role=roles/iam.serviceAccountTokenCreator`;
}

/** What a customer's Postgres needs, as statements and one line for the firewall. */
export function postgresGrants(secretName: string, { egressAddresses }: GrantPlace): string {
  const from = egressAddresses.join(", ") || "the trainer's addresses (SHORTLIST_EGRESS_ADDRESSES names them)";
  return `Postgres: the customer makes a role that can only read, and lets in ${from}:

  CREATE ROLE shortlist LOGIN PASSWORD '…';
  GRANT USAGE ON SCHEMA public TO shortlist;
  GRANT SELECT ON interactions, items TO shortlist;

and the operator sets that password as ${secretName} where the trainer runs.`;
}
