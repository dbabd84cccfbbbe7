/**
 * The tables of model management, as migration steps. A released step is never changed; changes are further steps. The SQL is
 * common to Postgres, CockroachDB and YugabyteDB. Structures are JSON in `text`, since `jsonb` refuses NUL characters.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `create table shortlist.models (
      customer text not null,
      model_name text not null,
      revision int4 not null,
      status text not null,
      spec text not null,
      spec_revision int4 not null,
      version text,
      item_id_type text,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      trained_at timestamptz,
      training_state text not null,
      run_id text,
      run_attempt int4 not null,
      run_spec_revision int4 not null,
      started_at timestamptz,
      finished_at timestamptz,
      next_run_at timestamptz,
      progress text,
      data text,
      metrics text,
      failure text,
      primary key (customer, model_name)
    )`,
    `create index models_due on shortlist.models (next_run_at)`,
    `create table shortlist.runs (
      run_id text primary key,
      customer text not null,
      model_name text not null,
      attempt int4 not null,
      crashes int4 not null,
      cancelled boolean not null,
      trainer_id text,
      seen_at timestamptz,
      not_before timestamptz not null,
      created_at timestamptz not null,
      finished_at timestamptz,
      outcome text
    )`,
    `create index runs_of_model on shortlist.runs (customer, model_name, created_at)`,
    `create index runs_unfinished on shortlist.runs (finished_at, not_before)`,
    `create table shortlist.versions (
      customer text not null,
      model_name text not null,
      version text not null,
      run_id text,
      created_at timestamptz not null,
      metrics text,
      primary key (customer, model_name, version)
    )`,
    `create table shortlist.idempotency_keys (
      customer text not null,
      idempotency_key text not null,
      request_digest text not null,
      model_name text not null,
      answer text not null,
      created_at timestamptz not null,
      primary key (customer, idempotency_key)
    )`,
    `create index idempotency_keys_age on shortlist.idempotency_keys (created_at)`,
  ],
  [
    `create table shortlist.erasure_salts (
      customer text primary key,
      salt text not null
    )`,
    `create table shortlist.erased_users (
      customer text not null,
      hash text not null,
      erased_at timestamptz not null,
      listed boolean not null,
      primary key (customer, hash)
    )`,
    `create index erased_users_listed on shortlist.erased_users (listed, customer)`,
    `create table shortlist.forward_nonces (
      nonce text primary key,
      expires_at timestamptz not null
    )`,
    `create index forward_nonces_age on shortlist.forward_nonces (expires_at)`,
  ],
  [
    // Versions are in the bucket, nonces in memory, and an Idempotency-Key belongs to the model that it created.
    `drop table shortlist.versions`,
    `drop table shortlist.forward_nonces`,
    `drop table shortlist.idempotency_keys`,
    `alter table shortlist.models add column idempotency_key text`,
    `alter table shortlist.models add column request_digest text`,
    `create unique index models_created_once on shortlist.models (customer, idempotency_key)`,
    // Progress changes several times a second, and must not rewrite the row with the specification.
    `alter table shortlist.runs add column progress text`,
    // A run that is over is removed.
    `delete from shortlist.runs where finished_at is not null`,
    `drop index shortlist.runs_unfinished`,
    `alter table shortlist.runs drop column finished_at`,
    `alter table shortlist.runs drop column outcome`,
    `alter table shortlist.models drop column progress`,
    `drop index shortlist.erased_users_listed`,
    `alter table shortlist.erased_users drop column listed`,
  ],
  [
    // What was stored of the model before this time has lost its erased users.
    `alter table shortlist.models add column erased_before timestamptz`,
  ],
  [`alter table shortlist.models add column scenario_problems text`],
  [
    `create table shortlist.ended_runs (
      run_id text primary key,
      customer text not null,
      model_name text not null,
      ended_at timestamptz not null,
      is_refused boolean not null,
      record text not null
    )`,
    `create index ended_runs_of_model on shortlist.ended_runs (customer, model_name, ended_at)`,
  ],
  // Refusals of the gate that the call which started the run wants ignored, separated by commas.
  [`alter table shortlist.runs add column ignored text`],
  [`alter table shortlist.models add column last_canary text`],
  [`alter table shortlist.models add column earnings text`],
  [
    `create table shortlist.batches (
      batch_id text primary key,
      customer text not null,
      model_name text not null,
      body text not null,
      state text not null,
      attempt int4 not null,
      trainer_id text,
      seen_at timestamptz,
      not_before timestamptz not null,
      created_at timestamptz not null,
      ended_at timestamptz,
      progress text,
      result text,
      files_deleted timestamptz
    )`,
    `create index batches_of_customer on shortlist.batches (customer, state)`,
    `create index batches_unfinished on shortlist.batches (state, not_before)`,
  ],
];
