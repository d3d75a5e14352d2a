import * as z from "zod";

const Entry = z.object({
  version: z.string().optional(),
  integrity: z.string().optional(),
  optional: z.boolean().optional(),
  devOptional: z.boolean().optional(),
});
type Entry = z.infer<typeof Entry>;

const Lock = z.object({ packages: z.record(z.string(), Entry) });

/**
 * Whether the installed packages are those of the lock.
 * @param lock text of a `package-lock.json`.
 * @param installed text of `node_modules/.package-lock.json`, where npm records what it has
 *   installed.
 */
export function isInstalled(lock: string, installed: string): boolean {
  const [wanted, there] = [lock, installed].map(packagesOf);
  if (wanted === undefined || there === undefined) return false;
  const isThere = ([path, entry]: [string, Entry]): boolean => {
    const found = there.get(path);
    // Packages for other machines are left out.
    if (found === undefined) return entry.optional === true || entry.devOptional === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  };
  return [...wanted].every(isThere) && [...there.keys()].every((path) => wanted.has(path));
}

/** By folder; undefined: not such a file. */
function packagesOf(text: string): Map<string, Entry> | undefined {
  try {
    const packages = new Map(Object.entries(Lock.parse(JSON.parse(text)).packages));
    // The project itself.
    packages.delete("");
    return packages;
  } catch {
    return undefined;
  }
}
