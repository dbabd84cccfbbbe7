import { type CreateForm, EMPTY_CREATION, queryOfFile, type SourceType } from "./create-spec.ts";
import { Choice, Field, TextField } from "./widgets.tsx";

type Props = { readonly form: CreateForm; readonly onChange: (part: Partial<CreateForm>) => void };

const TYPES: readonly (readonly [SourceType, string])[] = [
  ["File", "Files: CSV, Parquet, JSON"],
  ["Postgres", "Postgres"],
  ["BigQuery", "BigQuery"],
  ["Events", "Events that your application sends"],
];

/** About the characters of a line in the form. */
const QUERY_COLUMNS = 30;
const QUERY_ROWS_MAX = 6;
const SSL_MODES = [
  ["verify-full", "verify-full: the safest"],
  ["verify-ca", "verify-ca: any host name"],
  ["require", "require: any server"],
  ["disable", "disable: no encryption"],
] as const;

/** Where interactions and attributes come from. */
export function CreateSource({ form, onChange }: Props) {
  const { type } = form;
  return (
    <fieldset>
      <legend>1. Source</legend>
      <Choice
        label="Type"
        value={type}
        options={TYPES}
        onChange={(chosen) =>
          onChange({ type: chosen as SourceType, location: "", events: chosen === "Events" ? "view, purchase" : "" })
        }
      />
      {type === "File" && (
        <TextField
          label="Location"
          value={form.location}
          hint="A file or a pattern, below a folder that your operator allows."
          placeholder="shop/*.csv"
          onInput={(location) => onChange({ location, interactions: queryOfFile(location) ?? form.interactions })}
        />
      )}
      {type === "Postgres" && <Postgres form={form} onChange={onChange} />}
      {type === "BigQuery" && <BigQuery form={form} onChange={onChange} />}
      {type !== "Events" && <Queries form={form} onChange={onChange} />}
      <TextField
        label={type === "Events" ? "Types of events" : "Also listen to events of these types"}
        value={form.events}
        hint="Separated by commas. The next list knows each event. POST /v0/events stores them."
        placeholder="view, purchase"
        onInput={(events) => onChange({ events })}
      />
    </fieldset>
  );
}

const Postgres = ({ form, onChange }: Props) => (
  <>
    <TextField
      label="Address"
      value={form.location}
      hint="Without a password."
      placeholder="postgres://reader@db.example/shop"
      onInput={(location) => onChange({ location })}
    />
    <Choice label="Encryption" value={form.sslmode} options={SSL_MODES} onChange={(sslmode) => onChange({ sslmode })} />
    <TextField
      label="Name of the password's secret"
      value={form.secret}
      hint="Your operator sets it as a variable of the trainer."
      placeholder="SHORTLIST_SECRET_ACME__DB"
      onInput={(secret) => onChange({ secret })}
    />
  </>
);

const BigQuery = ({ form, onChange }: Props) => (
  <>
    <TextField
      label="Project"
      value={form.project}
      hint="It pays for the queries."
      placeholder="acme-shop"
      onInput={(project) => onChange({ project })}
    />
    <TextField
      label="Location of the data sets"
      value={form.location}
      placeholder="EU"
      onInput={(location) => onChange({ location })}
    />
  </>
);

const Queries = ({ form, onChange }: Props) => (
  <>
    <Query
      label="Query of interactions"
      value={form.interactions}
      hint="One row for each view, purchase or rating. Each file is a table."
      onInput={(interactions) => onChange({ interactions: interactions || EMPTY_CREATION.interactions })}
    />
    <Query
      label="Query of items"
      value={form.items}
      hint="Optional: attributes for filters, titles and better lists."
      onInput={(items) => onChange({ items })}
    />
    <Query
      label="Query of users"
      value={form.users}
      hint="Optional: attributes for users without a history."
      onInput={(users) => onChange({ users })}
    />
  </>
);

function Query(props: { label: string; value: string; hint: string; onInput: (value: string) => void }) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <textarea
          id={id}
          rows={Math.min(QUERY_ROWS_MAX, 1 + Math.floor(props.value.length / QUERY_COLUMNS))}
          spellcheck={false}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
