/** Texts that try to make a page obey. */
export const SCRIPT = "<script>alert(1)</script>";
export const IMAGE = `"><img src=x onerror=alert(1)>`;
/** Sets the title of a terminal, and reverses the text after it. */
export const STEERING = "\u001b]0;owned\u0007\u202egnp.exe";
export const LONG = "x".repeat(500);

/** Their markup or steering characters: no page may contain it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
export const OBEYED = /<script>alert|<img|[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/;
