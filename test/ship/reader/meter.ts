/** What is billed as rows: statements, and alarms. */
import { vi } from "vitest";

type Statement = { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> };

/**
 * Every statement from now on, by its verb and its table: what it read and wrote is known once it
 * has run.
 */
export function statements({ sql }: DurableObjectStorage): Statement[] {
  const run: Statement[] = [];
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const exec = prototype.exec;
  vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
    const cursor = exec.call(this, query, ...values);
    const verb = /\w+/.exec(query)?.[0];
    const table = /\b(?:reader|state|taken|block|function_hour|batch|chunk|object|health_hour|canary)\b/.exec(
      query,
    )?.[0];
    run.push({ what: `${verb} ${table}`, cursor });
    return cursor;
  });
  return run;
}

/** Counts what is billed as a written row from now on; of alarms, those of this object. */
export function meter(storage: DurableObjectStorage): { read(): Record<string, number> } {
  const run = statements(storage);
  let alarms = 0;
  const prototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const setAlarm = prototype.setAlarm;
  vi.spyOn(prototype, "setAlarm").mockImplementation(function (this: DurableObjectStorage, ...args) {
    if (this === storage) alarms += 1;
    return setAlarm.apply(this, args);
  });
  return {
    read: () => {
      const written: Record<string, number> = {};
      for (const { what, cursor } of run.splice(0)) {
        // Another object's, whose rows are not all read, tells nothing here.
        if (!what.startsWith("SELECT") && cursor.rowsWritten > 0)
          written[what] = (written[what] ?? 0) + cursor.rowsWritten;
      }
      if (alarms > 0) written.alarm = alarms;
      alarms = 0;
      return written;
    },
  };
}
