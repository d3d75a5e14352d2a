import { Tables } from "../../base/storage/sql.ts";
import { Chunks } from "./chunks.ts";
import type { LogState } from "./log-state.ts";

/**
 * A part of a reader, which has its one row and its chunks as well. Every method that changes
 * anything belongs into a transaction of its caller.
 */
export abstract class ReaderPart extends Tables {
  protected readonly state: LogState;
  protected readonly chunks: Chunks;

  constructor(sql: SqlStorage, state: LogState) {
    super(sql);
    this.state = state;
    this.chunks = new Chunks(sql);
  }
}
