/** Project files in many shapes with the same content, and comments in every possible place. */
import fc from "fast-check";

export interface Entry {
  service: string;
  environment?: string;
}

export interface Section {
  logpush?: boolean;
  consumers?: Entry[];
  /** Other content at that place. */
  stage?: string;
  previews?: Section;
}

export interface Written {
  text: string;
  /** Each is unique in the text. */
  comments: string[];
}

export interface Project {
  top: Section;
  environments: Record<string, Section>;
}

const entry = fc.record(
  { service: fc.constantFrom("logship", "alerts", "billing", "logship-2"), environment: fc.constantFrom("staging") },
  { requiredKeys: ["service"] },
);
const settings = {
  logpush: fc.boolean(),
  consumers: fc.array(entry, { maxLength: 3 }),
  stage: fc.constantFrom("a b", 'quo"te', "# no comment", "// none either", "[env.x]", "é😀"),
};
const section: fc.Arbitrary<Section> = fc.record(
  { ...settings, previews: fc.record(settings, { requiredKeys: [] }) },
  { requiredKeys: [] },
);

export const project: fc.Arbitrary<Project> = fc.record({
  top: section,
  environments: fc.dictionary(fc.constantFrom("production", "staging", "blue.green", "a"), section, { maxKeys: 3 }),
});

/** Makes choices, each a number below the given one. */
type Pick = (below: number) => number;

/** A stream of choices from numbers; past their end all are 0. */
function picks(numbers: readonly number[]): Pick {
  let at = 0;
  return (below) => (numbers[at++] ?? 0) % below;
}

export const choices = fc.array(fc.nat(1_000), { minLength: 0, maxLength: 400 });

export function writeJsonc(project: Project, numbers: readonly number[]): Written {
  const pick = picks(numbers);
  const comments: string[] = [];
  const eol = pick(2) === 0 ? "\n" : "\r\n";
  const trivia = (): string => {
    const [kind, comment] = [pick(9), `c${comments.length}`];
    if (kind < 2) comments.push(kind === 0 ? `/* ${comment} */` : `// ${comment}`);
    if (kind === 0) return ` /* ${comment} */ `;
    if (kind === 1) return ` // ${comment}${eol}\t`;
    return ["", "", " ", "  ", eol, `${eol}    `, `${eol}${eol}\t`][kind - 2] ?? "";
  };
  const list = (open: string, close: string, items: string[]): string => {
    const inner = items.map((item, index) => {
      const comma = index < items.length - 1 || pick(3) === 0 ? "," : "";
      return trivia() + item + trivia() + comma;
    });
    return open + inner.join("") + trivia() + close;
  };
  const property = (key: string, value: string): string => `${JSON.stringify(key)}${trivia()}:${trivia()}${value}`;
  const object = (properties: [string, string][]): string =>
    list(
      "{",
      "}",
      properties.map(([key, value]) => property(key, value)),
    );
  const plainEntry = (each: Entry): string =>
    `{ ${Object.entries(each)
      .map(([key, value]) => `"${key}": "${value}"`)
      .join(", ")} }`;
  const properties = ({ logpush, consumers, stage, previews }: Section): [string, string][] => [
    ...(previews === undefined ? [] : [["previews", object(properties(previews))] as [string, string]]),
    ...(stage === undefined ? [] : [["vars", object([["STAGE", JSON.stringify(stage)]])] as [string, string]]),
    ...(consumers === undefined
      ? []
      : [["tail_consumers", list("[", "]", consumers.map(plainEntry))] as [string, string]]),
    ...(logpush === undefined ? [] : [["logpush", String(logpush)] as [string, string]]),
  ];
  const environments = Object.entries(project.environments).map(([name, each]): [string, string] => [
    name,
    object(properties(each)),
  ]);
  const all = [
    ...properties(project.top),
    ...(environments.length === 0 ? [] : [["env", object(environments)] as [string, string]]),
  ];
  if (pick(2) === 0) all.reverse();
  const text = trivia() + object(all) + trivia();
  return { text: (pick(4) === 0 ? "\uFEFF" : "") + text, comments };
}

export function writeToml(project: Project, numbers: readonly number[]): Written {
  const pick = picks(numbers);
  const comments: string[] = [];
  const eol = pick(2) === 0 ? "\n" : "\r\n";
  const comment = (): string => {
    const text = `# c${comments.length}`;
    comments.push(text);
    return text;
  };
  const key = (name: string): string => (/^\w+$/.test(name) && pick(4) > 0 ? name : JSON.stringify(name));
  const lineTail = (): string => (pick(4) === 0 ? ` ${comment()}` : "") + eol + ["", "", "", eol][pick(4)];
  const before = (): string => (pick(4) === 0 ? comment() + eol : "");
  const plainEntry = (each: Entry): string =>
    `{ ${Object.entries(each)
      .map(([name, value]) => `${name} = "${value}"`)
      .join(", ")} }`;
  const array = (items: string[], lines: boolean): string => {
    if (!lines) return `[${items.join(", ")}${items.length > 0 && pick(4) === 0 ? "," : ""}]`;
    const rows = items.map((item, index) => {
      const comma = index < items.length - 1 || pick(2) === 0 ? "," : "";
      return `  ${item}${comma}${pick(3) === 0 ? ` ${comment()}` : ""}${eol}${pick(5) === 0 ? `  ${comment()}${eol}` : ""}`;
    });
    return `[${eol}${rows.join("")}]`;
  };
  /** Lines of a section below a prefix of its keys, and tables that come after all lines. */
  const write = (
    { logpush, consumers, stage, previews }: Section,
    prefix: string,
    header: string,
  ): { lines: string; tables: string } => {
    let lines = "";
    let tables = "";
    const line = (name: string, value: string) => {
      lines += `${before()}${prefix}${key(name)} = ${value}${lineTail()}`;
    };
    if (logpush !== undefined) line("logpush", String(logpush));
    if (consumers !== undefined) {
      if (prefix === "" && consumers.length > 0 && pick(2) === 0) {
        for (const each of consumers) {
          tables += `${before()}[[${header}tail_consumers]]${lineTail()}`;
          for (const [name, value] of Object.entries(each)) tables += `${name} = "${value}"${lineTail()}`;
        }
      } else {
        line("tail_consumers", array(consumers.map(plainEntry), pick(2) === 0));
      }
    }
    if (stage !== undefined) {
      const value = JSON.stringify(stage);
      if (prefix === "" && pick(2) === 0)
        tables += `${before()}[${header}vars]${lineTail()}STAGE = ${value}${lineTail()}`;
      else line("vars", `{ STAGE = ${value} }`);
    }
    if (previews !== undefined) {
      const isTable = prefix === "" && pick(2) === 0;
      const inner = isTable ? write(previews, "", `${header}previews.`) : write(previews, `${prefix}previews.`, header);
      if (isTable) tables += `${before()}[${header}previews]${lineTail()}${inner.lines}${inner.tables}`;
      else if (inner.lines === "") line("previews", "{}");
      else lines += inner.lines;
    }
    return { lines, tables };
  };
  const inline = ({ logpush, consumers, stage, previews }: Section): string => {
    const parts = [
      ...(logpush === undefined ? [] : [`logpush = ${logpush}`]),
      ...(consumers === undefined ? [] : [`tail_consumers = ${array(consumers.map(plainEntry), false)}`]),
      ...(stage === undefined ? [] : [`vars.STAGE = ${JSON.stringify(stage)}`]),
      ...(previews === undefined ? [] : [`previews = ${inline(previews)}`]),
    ];
    return `{ ${parts.join(", ")} }`;
  };
  const top = write(project.top, "", "");
  let rootLines = top.lines;
  let tables = "";
  for (const [name, each] of Object.entries(project.environments)) {
    const path = `env.${key(name)}`;
    const shape = pick(4);
    if (shape === 0) {
      // Dotted keys; an environment without any has to exist all the same.
      const { lines } = write(each, `${path}.`, "");
      rootLines += lines === "" ? `${path} = {}${lineTail()}` : lines;
    } else if (shape === 1) {
      rootLines += `${before()}${path} = ${inline(each)}${lineTail()}`;
    } else {
      const written = write(each, "", `${path}.`);
      const needsHeader = written.lines !== "" || written.tables === "" || shape === 2;
      tables += `${needsHeader ? `${before()}[${path}]${lineTail()}` : ""}${written.lines}${written.tables}`;
    }
  }
  const text = rootLines + top.tables + tables;
  return { text: (pick(4) === 0 ? "\uFEFF" : "") + (pick(3) === 0 ? text.trimEnd() : text), comments };
}
