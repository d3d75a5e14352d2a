/** What `npm run verify` reads: a folder, or a bucket. */
import { createReadStream } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";

/** A file below the archive, with `/` between its segments. */
export interface Stored {
  readonly path: string;
}

export interface Archive {
  /** Where it is in its bucket, without slashes at its ends; null: unknown. */
  readonly prefix: string | null;
  /** Every file, in any order; never all at once. */
  list(): AsyncIterable<Stored>;
  /** The bytes of a file, in pieces; null: there is none. */
  read(path: string): Promise<AsyncIterable<Uint8Array> | null>;
}

/**
 * Files of a folder. Links are listed as files, and never followed to others: nothing that was
 * shipped is one, but readers follow them.
 */
export function folderArchive(folder: string): Archive {
  async function* below(path: string): AsyncGenerator<Stored> {
    for await (const entry of await opendir(join(folder, path))) {
      const found = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) yield* below(found);
      else yield { path: found };
    }
  }
  return {
    prefix: null,
    list: () => below(""),
    read: async (path) => {
      if (path.split("/").includes("..")) return null;
      const file = join(folder, path);
      const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
        throw error;
      });
      return found?.isFile() === true ? createReadStream(file) : null;
    },
  };
}
