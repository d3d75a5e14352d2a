/** Other faults of a project, or of several projects together. */
import { isObject, own, type Place, placeName, spotName } from "./model.ts";
import { isAttached, type Section } from "./sections.ts";
import { plain } from "./text.ts";

/** Logship's entrypoint for events that a Worker sends itself. */
const ENTRYPOINT = "Shipper";

/** The entrypoint of the host that runs functions locally. */
const OTHER_ENTRYPOINTS: readonly unknown[] = ["LocalFunctions"];

/** Names of properties that wrangler does not know, or that mean something else. */
export function projectNotes(sections: readonly Section[], service: string): string[] {
  const unknown = sections.filter(({ raw }) => Object.hasOwn(raw, "logship")).map(spotName);
  return [
    ...(unknown.length === 0
      ? []
      : [
          `wrangler warns that "logship" is an unexpected field (${plain(unknown.join(", "))}). This is harmless: wrangler ignores it`,
        ]),
    ...sections.flatMap((section) => [...bindingNotes(section, service), ...namespaceNotes(section, service)]),
  ];
}

function bindingNotes(section: Section, service: string): string[] {
  const { raw } = section;
  const bindings = own(raw, "services");
  if (!Array.isArray(bindings)) return [];
  return bindings.filter(isObject).flatMap((binding) => {
    const entrypoint = own(binding, "entrypoint");
    if (own(binding, "service") !== service || entrypoint === ENTRYPOINT) return [];
    if (OTHER_ENTRYPOINTS.includes(entrypoint)) return [];
    const name = plain(String(own(binding, "binding")));
    const has = entrypoint === undefined ? "no entrypoint" : `the entrypoint ${plain(JSON.stringify(entrypoint))}`;
    return [
      `${plain(spotName(section))}: the binding ${name} to "${service}" has ${has}: ${name}.ship() needs "entrypoint": "${ENTRYPOINT}"`,
    ];
  });
}

/** User Workers: the consumer of the Worker that calls them does not get their events. */
function namespaceNotes(section: Section, service: string): string[] {
  const bindings = own(section.raw, "dispatch_namespaces");
  if (!Array.isArray(bindings)) return [];
  const names = bindings.filter(isObject).map((binding) => plain(JSON.stringify(own(binding, "namespace") ?? null)));
  return names.map(
    (name) =>
      `${plain(spotName(section))}: user Workers of the dispatch namespace ${name} are not attached with the Worker that calls them: each needs "tail_consumers": [{ "service": "${service}" }] in the metadata of its upload; npm run doctor -- --account lists them`,
  );
}

/**
 * Faults of logship's own project. It skips events of the Worker that SELF_NAME names, which
 * has to be itself: attached to itself, each of its calls would otherwise cause the next one.
 */
export function shipperFaults(sections: readonly Section[], service: string): string[] {
  return sections.flatMap((section) => {
    const { raw, place, isPreviews, scriptName } = section;
    const faults: string[] = [];
    if (scriptName === service && isAttached(section, service)) {
      faults.push(
        `${plain(spotName(section))}: it is its own consumer, so each of its calls causes another one: remove that consumer`,
      );
    }
    if (scriptName === null || isPreviews) return faults;
    const vars = own(raw, "vars");
    const selfName = isObject(vars) ? own(vars, "SELF_NAME") : undefined;
    if (selfName === scriptName) return faults;
    const is = selfName === undefined ? "not set" : plain(JSON.stringify(selfName));
    const why = place !== null && vars === undefined ? "; environments do not inherit vars" : "";
    return [
      ...faults,
      `${plain(placeName(place))}: vars.SELF_NAME is ${is}, and must be "${plain(scriptName)}"${why}: otherwise logship does not recognise its own events, and ships them`,
    ];
  });
}

export interface Deployment {
  /** The project file, as it is shown. */
  readonly project: string;
  readonly place: Place;
  readonly scriptName: string | null;
  /** null: not given; it may be any. */
  readonly account: string | null;
}

/** Deployments under one name: each overwrites the other, and their records look the same. */
export function sharedNames(deployments: readonly Deployment[]): string[] {
  const byName = Map.groupBy(deployments, ({ scriptName }) => scriptName);
  return [...byName].flatMap(([name, all]) => {
    const accounts = all.map(({ account }) => account);
    const isApart = !accounts.includes(null) && new Set(accounts).size === all.length;
    if (name === null || all.length < 2 || isApart) return [];
    const where = all.map(({ project, place }) => `${placeName(place)} of ${project}`).join(" and ");
    return [`"${plain(name)}" is the name under which ${where} deploy: their records cannot be told apart`];
  });
}

/** The account that a section deploys to; environments inherit it. */
export function accountOf({ raw }: Section, top: Section | undefined): string | null {
  const account = own(raw, "account_id") ?? own(top?.raw ?? {}, "account_id");
  return typeof account === "string" && account !== "" ? account : null;
}
