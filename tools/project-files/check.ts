/** Checks a set of project files before they are deployed, and says what was found. */
import { sectionsOf } from "./edit.ts";
import { isBuilt, type ProjectFile, readProjectFile } from "./files.ts";
import type { Found } from "./find.ts";
import { ProjectFault, type Spot } from "./model.ts";
import { accountOf, type Deployment, projectNotes, sharedNames, shipperFaults } from "./notes.ts";
import type { Section } from "./sections.ts";
import { plain } from "./text.ts";
import { type PlaceVerdict, type Verdict, verdictsOf } from "./verdicts.ts";

interface ProjectReport {
  readonly project: string;
  /** Why it could not be checked; the rest is empty then. */
  readonly fault: string | null;
  readonly places: readonly PlaceVerdict[];
  /** What is wrong besides silent deployments. */
  readonly wrong: readonly string[];
  readonly notes: readonly string[];
}

interface Check {
  readonly reports: readonly ProjectReport[];
  /** About several projects. */
  readonly notes: readonly string[];
}

/** @param show how a path is written. */
export function checkProjects(found: readonly Found[], service: string, show: (path: string) => string): Check {
  const deployments: Deployment[] = [];
  const seen = new Set<string>();
  const reports = found.flatMap((each): ProjectReport[] => {
    const project = show(each.path);
    try {
      const file = readProjectFile(each.path);
      if (seen.has(file.realPath)) return [];
      seen.add(file.realPath);
      const sections = sectionsOf(file.text, file.language);
      for (const section of sections.filter(({ isPreviews }) => !isPreviews)) {
        const { place, scriptName } = section;
        // Another checkout of logship, or a fixture of it: it has no records of its own.
        if (scriptName !== service)
          deployments.push({ project, place, scriptName, account: accountOf(section, sections[0]) });
      }
      return [reportOf(project, file, each, sections, service, show)];
    } catch (error) {
      if (!(error instanceof ProjectFault)) throw error;
      return [{ project, fault: error.message, places: [], wrong: [], notes: [] }];
    }
  });
  return { reports, notes: sharedNames(deployments) };
}

function reportOf(
  project: string,
  file: ProjectFile,
  { ignored, shadowedBy }: Found,
  sections: readonly Section[],
  service: string,
  show: (path: string) => string,
): ProjectReport {
  const places = verdictsOf(sections, service);
  const isShipper = places.some(({ verdict }) => verdict === "shipper");
  return {
    project,
    fault: null,
    places,
    wrong: isShipper ? shipperFaults(sections, service) : [],
    notes: [
      ...projectNotes(sections, service),
      ...ignored.map((path) => `${show(path)} is ignored: wrangler uses ${project}`),
      ...(shadowedBy === null ? [] : [`wrangler uses ${show(shadowedBy)} instead, unless --config names this file`]),
      ...(isBuilt(file.path) ? ["a build generates what is deployed: build again after each change"] : []),
    ],
  };
}

const WORDS: Record<Verdict, string> = {
  attached: "attached",
  silent: "SILENT",
  none: "not meant to",
  shipper: "shipper",
};

/**
 * A project in lines: a row for each deployment, and below it why and what to do.
 * @param attach the command that attaches a spot of a project.
 */
export function projectLines(report: ProjectReport, attach: (project: string, spot: Spot) => string): string[] {
  const { project, fault, places, wrong, notes } = report;
  if (fault !== null) return [project, `  cannot be checked: ${fault}`];
  const rows = places.map(({ place, isPreviews, scriptName }) => [
    `${place === null ? "top level" : plain(place)}${isPreviews ? ", previews" : ""}`,
    scriptName === null ? "(no name)" : plain(scriptName),
  ]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = places.flatMap((place, index) => {
    const cells = (rows[index] ?? []).map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return placeLines(cells.join("  "), place, attach(project, place));
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
    (folder) => `${folder}: Nuxt writes its project file. Name logship in nuxt.config: docs/attach.md, By framework`,
  );
}

/**
 * The summary of a check, and whether all that should be attached is, everything could be checked,
 * and nothing is wrong. @param unread paths that could not be searched.
 */
export function sumUp({ reports }: Check, unread: number): { lines: string[]; isGood: boolean } {
  const places = reports.flatMap((report) => report.places);
  const count = (verdict: Verdict) => places.filter((place) => place.verdict === verdict).length;
  const [attached, silent, none, shipper] = [count("attached"), count("silent"), count("none"), count("shipper")];
  const wrong = reports.flatMap((report) => report.wrong).length;
  const faults = reports.filter(({ fault }) => fault !== null).length + unread;
  const parts = [
    `${attached} attached`,
    `${silent} would stay silent`,
    `${none} not meant to`,
    ...(shipper > 0 ? [`${shipper} of logship itself`] : []),
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
