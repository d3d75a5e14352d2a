import { ATTACHMENT_GONE_MS, FUNCTIONS_MAX } from "../../base/limits.ts";
import { log } from "../../base/logger.ts";
import { columns, Tables, verbatim } from "../../base/storage/sql.ts";
import {
  type Attachment,
  type AttachmentFact,
  afterSighting,
  attachedAt,
  factOf,
  type Seen,
} from "../functions/attachments.ts";

/**
 * A function checked within this time, in ms, is not due: the run before may still be under way.
 */
const ASKED_AGAIN_MS = 60_000;

interface Row extends Attachment {
  name: string;
  triedMs: number;
}

const ROW = columns("name", "state", "sinceMs", "attachedMs", "checkedMs", "triedMs", "fault");

/** With logging off, no events are expected. */
const IS_OFF = verbatim(
  "EXISTS (SELECT 1 FROM function_setting f WHERE f.name = attachment.name AND f.logging = 'off')",
);

/**
 * Part of the control plane: the functions that should be attached to this service, and their
 * state.
 */
export class Attachments extends Tables {
  /** All that should be attached and whose logging is not off, by name. */
  list(): AttachmentFact[] {
    const rows = this.sql.all<Row>`SELECT ${ROW} FROM attachment WHERE NOT ${IS_OFF} ORDER BY name`;
    return rows.map((row) => factOf(row.name, row));
  }

  /** null: attachment was not requested here, or logging is off. */
  get(name: string): AttachmentFact | null {
    const row = this.sql.first<Row>`SELECT ${ROW} FROM attachment WHERE name = ${name} AND NOT ${IS_OFF}`;
    return row && factOf(name, row);
  }

  /** The platform has attached it on request. */
  made(name: string, nowMs: number): void {
    const row = this.#row(name);
    this.#write(name, attachedAt(row, nowMs), nowMs, row === null);
  }

  /** It should no longer be attached. @returns whether it should have been. */
  giveUp(name: string): boolean {
    return this.sql.run`DELETE FROM attachment WHERE name = ${name}` > 0;
  }

  /** Takes in what an answer of the platform showed. */
  see({ name, sighting, askedMs }: Seen): void {
    const before = this.#row(name);
    const after = afterSighting(before, sighting, askedMs);
    if (after !== null && after !== before)
      this.#write(name, after, Math.max(askedMs, before?.triedMs ?? 0), before === null);
  }

  /** Names to check, least recently tried first. Scripts that have long been gone are deleted. */
  due(atMost: number, nowMs: number): string[] {
    this.sql.run`DELETE FROM attachment WHERE state = 'gone' AND since_ms < ${nowMs - ATTACHMENT_GONE_MS}`;
    return this.sql.all<{ name: string }>`
      SELECT name FROM attachment WHERE tried_ms <= ${nowMs - ASKED_AGAIN_MS} AND NOT ${IS_OFF}
      ORDER BY tried_ms, name LIMIT ${atMost}`.map(({ name }) => name);
  }

  #row(name: string): Row | null {
    return this.sql.first`SELECT ${ROW} FROM attachment WHERE name = ${name}`;
  }

  #write(name: string, attachment: Attachment, triedMs: number, isNew: boolean): void {
    if (isNew && !this.#hasRoom()) {
      log.warn("an attachment cannot be watched: there are too many", {
        durable_object: "ControlPlane",
        max: FUNCTIONS_MAX,
      });
      return;
    }
    const { state, sinceMs, attachedMs, checkedMs, fault } = attachment;
    this.sql.replace("attachment", { name, state, sinceMs, attachedMs, checkedMs, triedMs, fault });
  }

  /** If full, deletes a script that is gone, or else a function whose logging is off. */
  #hasRoom(): boolean {
    const { n } = this.sql.one<{ n: number }>`SELECT count(*) AS n FROM attachment`;
    if (n < FUNCTIONS_MAX) return true;
    const deleted = this.sql.run`
      DELETE FROM attachment WHERE name = (SELECT name FROM attachment WHERE state = 'gone' OR ${IS_OFF}
      ORDER BY state = 'gone' DESC, since_ms LIMIT 1)`;
    return deleted > 0;
  }
}
