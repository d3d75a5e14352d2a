/** A check as lines of text. */
import type { Check, ProjectReport } from "./check.ts";
import type { Place } from "./model.ts";
import { plain } from "./text.ts";
import type { PlaceVerdict, Verdict } from "./verdicts.ts";

const WORDS: Record<Verdict, string> = {
  attached: "attached",
  silent: "SILENT",
  none: "not meant to",
  shipper: "shipper",
};

export interface Sum {
  readonly lines: readonly string[];
  /** Whether all that should be attached is, everything could be checked, and nothing is wrong. */
  readonly isGood: boolean;
}

/** The command that attaches a place of a project. */
export type AttachCommand = (project: string, place: Place) => string;

/** A project in lines: a row for each deployment, and below it why and what to do. */
export function projectLines(report: ProjectReport, attach: AttachCommand): string[] {
  const { project, fault, places, wrong, notes } = report;
  if (fault !== null) return [project, `  cannot be checked: ${fault}`];
  const rows = places.map(({ place, scriptName }) => [
    place === null ? "top level" : plain(place),
    scriptName === null ? "(no name)" : plain(scriptName),
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = places.flatMap((place, index) => {
    const cells = (rows[index] ?? []).map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return placeLines(cells.join("  "), place, attach(project, place.place));
  });
  return [project, ...lines, ...wrong.map((words) => `  WRONG: ${words}`), ...notes.map((words) => `  note: ${words}`)];
}

function placeLines(head: string, { verdict, isMended, reasons, notes }: PlaceVerdict, attach: string): string[] {
  const indent = `  ${" ".repeat(head.length)}  `;
  const [first, ...others] = reasons;
  return [
    `  ${head}  ${WORDS[verdict]}${first === undefined ? "" : `: ${first}`}`,
    ...others.map((reason) => `${indent}${reason}`),
    ...(isMended ? [`${indent}run: ${attach}`] : []),
    ...notes.map((note) => `${indent}note: ${note}`),
  ];
}

/** Project files that a search found and did not check: they may not be deployed. */
export function unnamedNote(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  return [
    `not checked, as wrangler uses them only with --config: ${paths.join(", ")}; to check one that is deployed, name it`,
  ];
}

/** Projects whose file a build writes. */
export function nuxtNote(folders: readonly string[]): string[] {
  return folders.map(
    (folder) =>
      `${folder}: Nuxt writes its project file. Name the shipper in nuxt.config: docs/attach.md, By framework`,
  );
}

/** The summary of a check. @param unread paths that could not be searched. */
export function sumUp({ reports }: Check, unread: number): Sum {
  const places = reports.flatMap((report) => report.places);
  const count = (verdict: Verdict) => places.filter((place) => place.verdict === verdict).length;
  const [attached, silent, none, shipper] = [count("attached"), count("silent"), count("none"), count("shipper")];
  const wrong = reports.flatMap((report) => report.wrong).length;
  const faults = reports.filter(({ fault }) => fault !== null).length + unread;
  const parts = [
    `${attached} attached`,
    `${silent} would stay silent`,
    `${none} not meant to`,
    ...(shipper > 0 ? [`${shipper} of the shipper itself`] : []),
  ];
  const ends = [
    ...(wrong > 0 ? [`${counted(wrong, "other fault")}`] : []),
    ...(faults > 0 ? [`${counted(faults, "path")} could not be checked`] : []),
  ];
  const head = `${counted(reports.length, "project file")}, ${counted(places.length, "deployment")}: ${parts.join(", ")}`;
  return { lines: [`${[head, ...ends].join("; ")}.`], isGood: silent === 0 && wrong === 0 && faults === 0 };
}

function counted(number: number, what: string): string {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}
