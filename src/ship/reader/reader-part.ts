import { Tables } from "../../base/storage/sql.ts";
import { Chunks } from "./chunks.ts";
import type { ReaderState } from "./reader-state.ts";

/**
 * A part of a reader, which has its one row and its chunks as well. Every method that changes
 * anything belongs into a transaction of its caller.
 */
export abstract class ReaderPart extends Tables {
  protected readonly state: ReaderState;
  protected readonly chunks: Chunks;

  constructor(sql: SqlStorage, state: ReaderState) {
    super(sql);
    this.state = state;
    this.chunks = new Chunks(sql);
  }
}
