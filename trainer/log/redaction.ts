/**
 * Secrets are write-only. Only fields of a connector's configuration that are known to be harmless are shown, so a new field is
 * hidden by default. Hidden values are also removed from every text that leaves a run.
 */
import type { ConnectorConfig } from "../../shared/model-spec.ts";

const HIDDEN = "***";

/** Fields whose text is shown. Numbers, booleans and `{"env": "NAME"}` references are shown in every field. */
const SHOWN_FIELDS = new Set(["id", "type", "location", "project_id", "sslmode", "env"]);
/** Characters. Shorter secrets are not removed, because they would match ordinary text everywhere. */
const SECRET_LENGTH_MIN = 4;

/** The configuration as the API shows it. */
export const withoutSecrets = (config: ConnectorConfig): Record<string, unknown> => shownFields(config);

/** Every text of the configuration that `withoutSecrets` hides, longest first. */
export function secretsIn(value: unknown, field = ""): string[] {
  if (typeof value === "string") return hiddenParts(value, field);
  if (Array.isArray(value)) return byLength(value.flatMap((entry) => secretsIn(entry, field)));
  if (typeof value !== "object" || value === null) return [];
  return byLength(Object.entries(value).flatMap(([name, inner]) => secretsIn(inner, name)));
}

/** The same value with the secrets removed from all its texts, also where JSON or a URL has escaped them. */
export function redacted<Value>(value: Value, secrets: readonly string[]): Value {
  const forms = (secret: string) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  const needles = byLength(secrets.filter((secret) => secret.length >= SECRET_LENGTH_MIN).flatMap(forms));
  return redactedValue(value, needles) as Value;
}

const byLength = (texts: readonly string[]) => [...new Set(texts)].sort((a, b) => b.length - a.length);

function shownFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shownValue(name, value)]));
}

function shownValue(name: string, value: unknown): unknown {
  if (typeof value === "string")
    return SHOWN_FIELDS.has(name) ? redactedValue(value, hiddenParts(value, name)) : HIDDEN;
  if (Array.isArray(value)) return value.map((entry) => shownValue(name, entry));
  if (typeof value === "object" && value !== null) return shownFields(value as Record<string, unknown>);
  return value;
}

/** Parts of a field's text to hide: passwords inside an address for a shown field, else the whole text. */
function hiddenParts(text: string, field: string): string[] {
  if (!SHOWN_FIELDS.has(field)) return text === "" ? [] : [text];
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*?:([^/?#]*)@/i.exec(text)?.[1];
  const parameters = [...text.matchAll(/[?&;\s](?:password|pwd|token|secret|sig|key)=([^&;\s]+)/gi)].map((m) => m[1]!);
  return [...(password ? [password] : []), ...parameters];
}

function redactedValue(value: unknown, needles: readonly string[]): unknown {
  if (typeof value === "string") return needles.reduce((text, needle) => text.replaceAll(needle, HIDDEN), value);
  if (Array.isArray(value)) return value.map((entry) => redactedValue(entry, needles));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactedValue(inner, needles)]));
}
