import { randomBytes } from "node:crypto";
import { printable } from "../client/show.ts";
import { FUNCTION_HOST_CONFIG } from "../paths.ts";
import { type DevServerOptions, startDevServer } from "./dev-server.ts";
import type { LocalServer } from "./local-server.ts";

export interface FunctionHostOptions extends Omit<DevServerOptions, "config" | "vars" | "onOutput"> {
  /** Gets each line that a function logs, with the function's name before it. */
  readonly onLine?: (line: string) => void;
}

/**
 * The function host, which runs uploaded functions: a `wrangler dev` beside that of the shipper.
 * Start it first, as the shipper is told its origin (`LOCAL_FUNCTIONS`). They find each other in
 * the registry, in whatever order they come up.
 */
export function startFunctionHost({ onLine, ...options }: FunctionHostOptions): Promise<LocalServer> {
  // Functions cannot know it, so no line of theirs can pass for one of the host's.
  const mark = randomBytes(16).toString("hex");
  return startDevServer({
    ...options,
    config: FUNCTION_HOST_CONFIG,
    vars: () => ({ LINE_MARK: mark }),
    ...(onLine !== undefined && { onOutput: markedLines(mark, onLine) }),
  });
}

/**
 * Picks what functions logged out of the output of the host, which prints it as
 * `<mark> <function> <text>`, a line at a time. What a function itself printed passes for nothing.
 * @returns takes the output in pieces of any length.
 */
export function markedLines(mark: string, onLine: (line: string) => void): (piece: string) => void {
  let rest = "";
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, text = ""] = line.startsWith(`${mark} `) ? (/^\S+ (\S+) ?(.*)$/s.exec(line) ?? []) : [];
      if (name !== undefined) onLine(printable(`${name} | ${text}`));
    }
  };
}
