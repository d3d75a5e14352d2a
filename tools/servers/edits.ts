/** Sees edits of the source below a folder. */
import { type FSWatcher, lstatSync, readdirSync, watch } from "node:fs";
import { join, sep } from "node:path";

export interface EditsOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly onEdit: () => void;
  /** A folder whose edits are not seen. */
  readonly onFault: (folder: string, why: string) => void;
}

/**
 * Watches each folder by itself: with `recursive`, Node watches files on Linux, and loses one that
 * an editor replaces. Left out are `node_modules`, and what begins with a dot.
 */
export function watchEdits(root: string, { signal, onEdit, onFault }: EditsOptions): void {
  const watchers = new Map<string, FSWatcher>();
  const leave = (folder: string): void => {
    for (const [path, watcher] of watchers)
      if (path === folder || path.startsWith(folder + sep)) {
        watcher.close();
        watchers.delete(path);
      }
  };
  const enter = (folder: string): void => {
    if (watchers.has(folder) || signal.aborted) return;
    try {
      const watcher = watch(folder, { persistent: false, signal }, (_, name) => {
        if (name === null || !isSource(name)) return;
        const path = join(folder, name);
        const stats = lstatSync(path, { throwIfNoEntry: false });
        if (stats === undefined) leave(path);
        else if (stats.isDirectory()) enter(path);
        onEdit();
      });
      watcher.on("error", (error) => onFault(folder, error.message));
      watchers.set(folder, watcher);
      for (const entry of readdirSync(folder, { withFileTypes: true }))
        if (entry.isDirectory() && isSource(entry.name)) enter(join(folder, entry.name));
    } catch (error) {
      onFault(folder, error instanceof Error ? error.message : String(error));
    }
  };
  enter(root);
}

function isSource(name: string): boolean {
  return name !== "node_modules" && !name.startsWith(".");
}
