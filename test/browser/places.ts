/** Where the pages are: for each pattern the addresses at which a seeded shipper has one. */
import type { Seeded } from "./seed.ts";

const odd = ({ functions }: Seeded): string => encodeURIComponent(functions.odd);
const draft = (step: string) => (seeded: Seeded) => [`/jobs/new/${seeded.draft}/${step}`];

/** By the patterns of src/dashboard/pages.ts; places.test.ts says which is missing. */
export const PLACES: Readonly<Record<string, (seeded: Seeded) => readonly string[]>> = {
  "/": () => ["/"],
  "/cost": () => ["/cost"],
  "/jobs": () => ["/jobs"],
  "/jobs/new": () => ["/jobs/new"],
  "/jobs/new/:draft": ({ draft: id }) => [`/jobs/new/${id}`],
  "/jobs/new/:draft/destination": draft("destination"),
  "/jobs/new/:draft/records": draft("records"),
  "/jobs/new/:draft/output": draft("output"),
  "/jobs/new/:draft/preview": draft("preview"),
  "/jobs/new/:draft/ownership": draft("ownership"),
  "/jobs/new/:draft/finish": draft("finish"),
  "/functions": () => ["/functions"],
  "/functions/:name": (seeded) => ["/functions/shop", `/functions/${odd(seeded)}`, "/functions/never-called"],
  "/attach": () => ["/attach"],
  "/access": () => ["/access"],
  "/access/tokens": () => ["/access/tokens"],
  "/access/tokens/:id/delete": ({ tokens }) => [`/access/tokens/${tokens.reader.id}/delete`],
  "/access/members": () => ["/access/members"],
  "/access/members/:id": ({ member }) => [`/access/members/${member}`],
  "/access/members/:id/delete": ({ member }) => [`/access/members/${member}/delete`],
  "/access/audit": () => ["/access/audit"],
  "/session": () => ["/session"],
};

/** A file rather than a page. */
export const FILES: readonly string[] = [];

/** What no pattern has: nothing is there, or not any more. */
export const NOTHING = ["/nothing-here", "/jobs/999999"];
