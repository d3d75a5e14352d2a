/** Checks a set of project files before they are deployed. */
import { sectionsOf } from "./edit.ts";
import { isBuilt, type ProjectFile, readProjectFile } from "./files.ts";
import type { Found } from "./find.ts";
import { ProjectFault } from "./model.ts";
import { accountOf, type Deployment, projectNotes, sharedNames, shipperFaults } from "./notes.ts";
import type { Section } from "./sections.ts";
import { type PlaceVerdict, verdictsOf } from "./verdicts.ts";

export interface ProjectReport {
  readonly project: string;
  /** Why it could not be checked; the rest is empty then. */
  readonly fault: string | null;
  readonly places: readonly PlaceVerdict[];
  /** What is wrong besides silent deployments. */
  readonly wrong: readonly string[];
  readonly notes: readonly string[];
}

export interface Check {
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
      for (const section of sections) {
        const { place, scriptName } = section;
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
