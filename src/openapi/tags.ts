import type { Tag } from "./types.ts";

/** What the routes are about, in the order in which they are shown; the first that fits a path below the account's, by its first name, is its tag. */
const TAGS: readonly (Tag & { readonly path: RegExp })[] = [
  { name: "Jobs", path: /\/(jobs|preview)\b/, description: "What is shipped, in which form, and where to." },
  { name: "Events", path: /\/events$/, description: "Events of functions, on their way in." },
  {
    name: "Destinations",
    path: /^\/logship\/(ownership|validate)\b/,
    description: "Proofs and checks of what a job would be told.",
  },
  { name: "Datasets", path: /\/datasets\//, description: "What a record has." },
  {
    name: "Set aside",
    path: /^\/logship\/set-aside\b/,
    description: "What could not go its way, and is kept until somebody decides.",
  },
  { name: "Functions", path: /^\/functions\//, description: "Whose events ship, and what became of them." },
  { name: "Tokens", path: /^\/tokens\b/, description: "Credentials of programs." },
  { name: "Members", path: /^\/members\b/, description: "People, and what they may do." },
  { name: "Account", path: /^/, description: "The account as a whole." },
];

/** @param path below the account's, by the first name of its group. */
export function tagOf(path: string): string {
  return TAGS.find((tag) => tag.path.test(path))?.name ?? "Account";
}

/** Those that are used, in order. */
export function tagsAmong(used: ReadonlySet<string>): Tag[] {
  return TAGS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description }));
}
