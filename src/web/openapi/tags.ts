import type { Tag } from "./openapi-types.ts";

/**
 * Groups of routes in display order. The first that matches a path, under its primary name, is its
 * tag.
 */
const TAGS: readonly (Tag & { readonly path: RegExp })[] = [
  { name: "Jobs", path: /\/(jobs|preview)\b/, description: "What is shipped, in which form, and where." },
  { name: "Events", path: /\/events$/, description: "Sending events over HTTP." },
  {
    name: "Destinations",
    path: /^\/logship\/(ownership|validate)\b/,
    description: "Ownership proofs, and checks before a job is created.",
  },
  { name: "Datasets", path: /\/datasets\//, description: "The fields of a record." },
  {
    name: "Set aside",
    path: /^\/logship\/set-aside\b/,
    description: "Messages and objects that could not be processed, kept until you decide.",
  },
  { name: "Functions", path: /^(?:\/logship)?\/functions\b/, description: "Functions, their settings and counts." },
  { name: "Tokens", path: /^\/tokens\b/, description: "Credentials for programs." },
  { name: "Members", path: /^\/members\b/, description: "Users and their roles." },
  { name: "Account", path: /^/, description: "The account as a whole." },
];

/** @param path relative to the account's, under the primary name of its group. */
export function tagOf(path: string): string {
  return TAGS.find((tag) => tag.path.test(path))?.name ?? "Account";
}

/** The used tags, in display order. */
export function tagsAmong(used: ReadonlySet<string>): Tag[] {
  return TAGS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description }));
}
