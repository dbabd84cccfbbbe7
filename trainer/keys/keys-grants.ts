export type GrantPlace = {
  /** The project that runs the queries and pays for them. Undefined: the reader fills it in. */
  readonly project: string | undefined;
  readonly dataset: string | undefined;
  /** Addresses from which the trainer connects. */
  readonly egressAddresses: readonly string[];
};

/**
 * The grants for reading a customer's BigQuery, as commands to paste: the customer's to the service account, and the
 * operator's to the trainer's identity. The roles are those of Google's documentation.
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

and the operator lets the trainer's identity (with the credentials in GOOGLE_APPLICATION_CREDENTIALS) act as that account:

  gcloud iam service-accounts add-iam-policy-binding ${serviceAccount}${home ? ` --project=${home}` : ""} \\
    --member=serviceAccount:TRAINER_IDENTITY --role=roles/iam.serviceAccountTokenCreator`;
}

/** The statements that a customer's Postgres needs, and the addresses for its firewall. */
export function postgresGrants(secretName: string, { egressAddresses }: GrantPlace): string {
  const from = egressAddresses.join(", ") || "the trainer's addresses (see SHORTLIST_EGRESS_ADDRESSES)";
  return `Postgres: the customer creates a role that can only read, and admits connections from ${from}:

  CREATE ROLE shortlist LOGIN PASSWORD '…';
  GRANT USAGE ON SCHEMA public TO shortlist;
  GRANT SELECT ON interactions, items TO shortlist;

and the operator sets that password as ${secretName} where the trainer runs.`;
}
