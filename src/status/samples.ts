/** Of the watch: what was counted at its last looks. One row. */
export const SAMPLES_SQL = `
      CREATE TABLE sample (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        state TEXT NOT NULL                      -- JSON of SampleState
      ) STRICT;`;

export class Samples {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  protected get sql(): SqlStorage {
    return this.#sql;
  }
}
