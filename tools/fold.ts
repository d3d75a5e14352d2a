/** Lines of one object at most; what is longer is shown as it came. */
const OBJECT_LINES_MAX = 200;

/**
 * Puts each object that is printed over several lines, as `wrangler dev` prints those of the log,
 * on one line. Everything else passes as it came, line by line.
 * @returns takes the output in pieces of any length.
 */
export function foldObjects(write: (text: string) => void): (piece: string) => void {
  let rest = "";
  let object: string[] = [];
  const takeLine = (line: string): void => {
    object.push(line);
    const isOpen = object[0] === "{" && line !== "}" && (object.length === 1 || line.startsWith(" "));
    if (isOpen && object.length <= OBJECT_LINES_MAX) return;
    const isWhole = object[0] === "{" && line === "}";
    write(isWhole ? `${object.map((each) => each.trim()).join(" ")}\n` : object.map((each) => `${each}\n`).join(""));
    object = [];
  };
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line);
  };
}
