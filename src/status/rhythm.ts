/** Of the watch: how the events of functions usually come. One row. */
export const RHYTHM_SQL = `
      CREATE TABLE rhythm (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        state TEXT NOT NULL                      -- JSON of RhythmState
      ) STRICT;`;

export class Rhythm {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  protected get sql(): SqlStorage {
    return this.#sql;
  }
}
