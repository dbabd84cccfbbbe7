/** The database of a Durable Object. */
export class SqlTables {
  readonly #sql: SqlStorage;

  /** @param schema Statements that make the tables that are not there yet. */
  constructor(sql: SqlStorage, schema: string) {
    this.#sql = sql;
    sql.exec(schema);
  }
  query<T>(text: string, ...values: (string | number)[]): T[] {
    return this.#sql.exec(text, ...values).toArray() as T[];
  }
  /** The `value` of the first row: 0 for NULL or without a row. */
  numberIn(text: string, ...values: (string | number)[]): number {
    return this.query<{ value: number | null }>(text, ...values)[0]?.value ?? 0;
  }
}
