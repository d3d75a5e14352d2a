import { note } from "./mask.ts";

/** What of a stack is read: the frames of interest are at its top. */
const READ_MAX = 4_096;

/** Longest name of a frame, in UTF-16 code units. */
export const FRAME_MAX = 80;

/** `at name (place:line:column)`, or without a name. */
const FRAME = /^\s*at (?:(.+?) \((.*)\)|(.+))$/;

/** Code that is not the Worker's own, or that has no place. */
const FOREIGN =
  /(?:^|[/\\])node_modules[/\\]|^(?:node|native|cloudflare(?:-internal)?|workerd|internal|wasm|evalmachine)\b|<anonymous>|^index \d+$/;

/** Names that a minifier gives, and what it makes different with each build. */
export const SHORT = /^(?:[\w$]{1,2}|(?=.*[\d$_])[\w$]{3}|[a-z][A-Z]\w|[a-z]\w?[A-Z])$/;

/** Handlers of the runtime, and its classes: whatever goes wrong in a Worker passes them. */
const EVERYWHERE =
  /^(?:fetch|scheduled|queue|tail|email|alarm|trace|test|run|main|handler?|webSocket(?:Message|Close|Error)|next|then|invoke)$|^(?:Promise|Array|Map|Set|JSON|String|RegExp|Reflect|(?:Readable|Writable|Transform)Stream|EventTarget|WebSocket|AsyncGenerator)\.|^\$/;

/** Top frames of stacks that came before: most errors come from few places. */
const known = new Map<string, string>();

/** Longest stack that is remembered, in UTF-16 code units. */
const KNOWN_UNITS = 1_500;

/**
 * The name of the topmost function of the Worker's own in a stack of V8, as far as the next
 * deployment will call it the same: lines, columns and files change with each, and so do the names
 * that a minifier gives; names of methods stay. "": there is none.
 */
export function topFrame(stack: string): string {
  if (stack === "") return "";
  // The message before the frames differs.
  const from = stack.startsWith("    at ") ? 0 : Math.max(0, stack.indexOf("\n    at "));
  const frames = stack.slice(from, from + READ_MAX);
  if (frames.length > KNOWN_UNITS) return ownIn(frames);
  return known.get(frames) ?? note(known, frames, ownIn(frames));
}

function ownIn(text: string): string {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end === -1 ? text.length : end);
    from = end === -1 ? text.length : end + 1;
    const [, called, within, bare] = line.length > 1_000 ? [] : (FRAME.exec(line) ?? []);
    const place = within ?? bare ?? "";
    if (called === undefined || !/:\d+(?::\d+)?$/.test(place) || FOREIGN.test(place)) continue;
    const name = nameOf(called);
    if (name !== "" && !EVERYWHERE.test(name)) return name.slice(0, FRAME_MAX);
  }
  return "";
}

/** `async new Object.x [as y]`: `x`, without what a bundler puts at its end to tell two apart. */
function nameOf(called: string): string {
  const plain = called.replace(/^(?:async |new |get |set )+/, "").replace(/ \[as .*\]$/, "");
  const parts = plain.split(".").map((part) => part.replace(/^_+|[_$]?\d+$/g, ""));
  const kept = parts.filter((part) => part !== "" && !SHORT.test(part) && !part.includes("<"));
  // The last is what was called: without it, the rest says too little.
  if (parts.length === 0 || kept.at(-1) !== parts.at(-1)) return "";
  return kept
    .filter((part, i) => i === kept.length - 1 || !/^(?:Object|Module|Function|Class|Proxy)$/.test(part))
    .join(".");
}
