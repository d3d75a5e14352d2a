import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The command lines of all processes started, directly or indirectly, with this variable in their
 * environment. Linux only; processes of other users are not seen.
 */
export function processesWith(name: string, value: string): string[] {
  const found: string[] = [];
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const environment = readFileSync(join("/proc", pid, "environ"), "utf8").split("\0");
      if (!environment.includes(`${name}=${value}`)) continue;
      const command = readFileSync(join("/proc", pid, "cmdline"), "utf8")
        .replaceAll("\0", " ")
        .trim();
      // A zombie process has no command line.
      if (command !== "") found.push(`${pid} ${command}`);
    } catch {
      // Ended meanwhile, or owned by another user.
    }
  }
  return found;
}
