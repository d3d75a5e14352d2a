import { EMAIL_MAX } from "../../base/limits.ts";

/**
 * Where records came from: `tail`: the platform traced them; `http:<name>`: that token or member
 * sent them over HTTP; `rpc`: a function with a service binding did. "": unknown.
 */
export type Source = string;

/** Longest source, in UTF-16 code units: an address is the longest name of a sender. */
export const SOURCE_MAX = "http:".length + EMAIL_MAX;

/** The same as JSON: any of its characters may be escaped; in CSV, six units stand for one. */
export const SOURCE_MAX_UNITS = 6 * SOURCE_MAX + 2;

/** Control characters, and those that have others shown elsewhere or not at all. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** @param name of the token, or address of the member, at intake. */
export function httpSource(name: string): Source {
  return `http:${name.replaceAll(UNSHOWN, "")}`.slice(0, SOURCE_MAX).toWellFormed();
}

/** Whether intake writes such a source. */
export function isSource(text: string): boolean {
  return text.length <= SOURCE_MAX && text.replaceAll(UNSHOWN, "") === text;
}
