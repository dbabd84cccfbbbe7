/** Checks a connector's configuration without reaching its store, so that a wrong one is refused in the request. */
import type { ConnectorConfig } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { parseWith, pointerStep, problemOf } from "../../../shared/parse-request.ts";
import type { ProblemPart } from "../../../shared/problem.ts";
import { BigQueryConfig } from "./bigquery/config.ts";
import { EventsConfig } from "./events/config.ts";
import { FileConfig } from "./file/config.ts";
import { PostgresConfig } from "./postgres/config.ts";

const SCHEMAS = {
  BigQuery: BigQueryConfig,
  Events: EventsConfig,
  File: FileConfig,
  Postgres: PostgresConfig,
} as const;
export type ConnectorType = keyof typeof SCHEMAS;
export const CONNECTOR_TYPES = Object.keys(SCHEMAS) as readonly ConnectorType[];

const NAME = /^[A-Za-z ]+$/;

export type CheckOptions = {
  /** JSON pointer of the configuration in the request. */
  readonly at: string;
  /** The prefix of the names of this customer's secrets; undefined when the customer can have none. */
  readonly secretPrefix: string | undefined;
};

/** Throws Problem for an unknown type, a secret in the request or a wrong field. The problem does not repeat the secret. */
export function checkConnectorConfig(config: ConnectorConfig, { at, secretPrefix }: CheckOptions): void {
  const { type } = config;
  if (!Object.hasOwn(SCHEMAS, type)) {
    const found = NAME.test(type) ? `; found ${JSON.stringify(type)}` : ""; // another text may be an address with a password
    const message = `must be one of ${CONNECTOR_TYPES.join(", ")}${found}${didYouMean(type, CONNECTOR_TYPES)}`;
    throw problemOf([{ pointer: `${at}/type`, code: "invalid_parameter", message }]);
  }
  const known = type as ConnectorType;
  const remedy = remedyOf(known, secretPrefix);
  const secrets = secretFields(config).map(
    (field): ProblemPart => ({
      pointer: at + pointerStep(field),
      code: "invalid_parameter",
      message: `contains a secret; requests must not: ${remedy}`,
    }),
  );
  if (secrets.length > 0) throw problemOf(secrets);
  parseWith<unknown>(SCHEMAS[known], config, { at });
}

const SECRET_NAME =
  /pass(word|phrase|wd)?$|pwd$|secret|token|credential|(private|access|api|account)[_-]?key|key[_-]?(file|json)/i;
/** Matches `scheme://user:password@…` and `?password=…`, also among libpq's keywords. */
const SECRET_IN_TEXT = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*:[^/?#]*@|[?&;\s](password|pwd|token|secret|sig)=[^&;\s]/i;

/** Characters that are searched for a secret. Addresses are shorter, and the pattern takes quadratic time. */
const SEARCHED_MAX = 2000;

/** Fields that hold a secret itself rather than a reference to one. */
function secretFields(config: ConnectorConfig): string[] {
  return Object.entries(config)
    .filter(([name, value]) => {
      if (value === null || value === undefined || isReference(value)) return false;
      const texts = typeof value === "object" ? Object.values(value) : [value];
      const hasSecret = (text: unknown) => typeof text === "string" && SECRET_IN_TEXT.test(text.slice(0, SEARCHED_MAX));
      return SECRET_NAME.test(name) || texts.some(hasSecret);
    })
    .map(([name]) => name);
}

const isReference = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).join() === "env";

function remedyOf(type: ConnectorType, secretPrefix: string | undefined): string {
  if (type === "BigQuery")
    return "BigQuery is read as the service account that came with your API key; leave it out, and grant that account access";
  if (type === "File" || type === "Events") return `${type === "File" ? "files" : "events"} need none; leave it out`;
  const name = `${secretPrefix ?? "SHORTLIST_SECRET_<CUSTOMER>__"}DB`;
  return `give it to the operator, who sets it as ${name} where the trainer runs, and send "password": {"env": "${name}"}`;
}
