import { concat } from "../../base/bytes.ts";
import { LOCAL_FUNCTIONS_MAX, ROW_MAX_BYTES } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { LocalCode, ModuleKind, StoredCode } from "../functions/local-types.ts";
import type { CONTROL_STEPS } from "./control-migrations.ts";

/**
 * {@link LocalCode} with lengths in place of bytes. The function's chunks hold the bytes of all
 * modules in order.
 */
interface Manifest extends Omit<LocalCode, "modules"> {
  modules: { name: string; kind: ModuleKind; length: number }[];
}

type FunctionRow = RowOf<typeof CONTROL_STEPS, "local_function">;

/**
 * Part of the control plane: code of functions in local development. Call methods that write in a
 * transaction.
 */
export class LocalStore extends Tables {
  /** Replaces the code of a function. @returns why it is not stored; null: it is. */
  put(name: string, version: string, { modules, ...rest }: LocalCode): string | null {
    const others = this.sql.only<number>`SELECT count(*) FROM local_function WHERE name <> ${name}`;
    if (others >= LOCAL_FUNCTIONS_MAX) return `there are ${LOCAL_FUNCTIONS_MAX} Workers; delete one of them`;
    this.remove(name);
    const manifest: Manifest = {
      ...rest,
      modules: modules.map(({ name, kind, bytes }) => ({ name, kind, length: bytes.length })),
    };
    this.sql.insert("local_function", { name, version, manifest: JSON.stringify(manifest) });
    const all = concat(modules.map(({ bytes }) => bytes));
    for (let n = 0; n * ROW_MAX_BYTES < all.length; n++) {
      const chunk = all.slice(n * ROW_MAX_BYTES, (n + 1) * ROW_MAX_BYTES);
      this.sql.insert("local_chunk", { name, n, bytes: chunk.buffer });
    }
    return null;
  }

  /** null: no such function runs here. */
  version(name: string): string | null {
    return this.#row(name)?.version ?? null;
  }

  /** null: no such function runs here. */
  get(name: string): StoredCode | null {
    const row = this.#row(name);
    if (row === null) return null;
    const chunks = this.sql.all<{ bytes: ArrayBuffer }>`
      SELECT bytes FROM local_chunk WHERE name = ${name} ORDER BY n`;
    const all = concat(chunks.map(({ bytes }) => new Uint8Array(bytes)));
    const { modules, ...rest } = JSON.parse(row.manifest) as Manifest;
    let at = 0;
    const code: LocalCode = {
      ...rest,
      modules: modules.map(({ name, kind, length }) => {
        // A copy: a call would transfer the whole buffer of a view.
        const bytes = all.slice(at, at + length);
        at += length;
        return { name, kind, bytes };
      }),
    };
    return { version: row.version, code };
  }

  /** @returns whether there was one. */
  remove(name: string): boolean {
    this.sql.run`DELETE FROM local_chunk WHERE name = ${name}`;
    return this.sql.run`DELETE FROM local_function WHERE name = ${name}` > 0;
  }

  #row(name: string): FunctionRow | null {
    return this.sql.first`SELECT * FROM local_function WHERE name = ${name}`;
  }
}
