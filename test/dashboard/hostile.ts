/** Texts that somebody would like a page to obey. */
export const SCRIPT = "<script>alert(1)</script>";
export const IMAGE = `"><img src=x onerror=alert(1)>`;
/** Sets a terminal's title, and turns what stands behind it. */
export const STEERING = "\u001b]0;owned\u0007\u202egnp.exe";
export const LONG = "x".repeat(500);

/** What no page may hold of these: markup that is theirs, or characters that steer. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
export const OBEYED = /<script>alert|<img|[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/;
