/** Parses the document's command lines as a shell and curl do, as far as needed. */

export interface Command {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | FormData;
}

/**
 * The words of one command. @throws Error for an unset variable, an open quote, or other
 * unsupported syntax.
 */
export function wordsOf(line: string, variables: { readonly [name: string]: string }): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  for (let i = 0; i < line.length; i++) {
    const at = line[i] ?? "";
    if (quote === null && /\s/.test(at)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (quote === null && at === "\\") {
      i++;
      if (line[i] !== "\n") word = (word ?? "") + (line[i] ?? "");
    } else if ((at === "'" || at === '"') && (quote === null || quote === at)) {
      quote = quote === null ? at : null;
      word ??= "";
    } else if (at === "$" && quote !== "'") {
      const name = /^\w+/.exec(line.slice(i + 1))?.[0] ?? "";
      const value = variables[name];
      if (value === undefined) throw new Error(`$${name} is not set`);
      word = (word ?? "") + value;
      i += name.length;
    } else if (quote === '"' && /[\\`!]/.test(at)) {
      throw new Error(`${at} means something between double quotes`);
    } else {
      word = (word ?? "") + at;
    }
  }
  if (quote !== null) throw new Error("a quote is not closed");
  if (word !== null) words.push(word);
  return words;
}

/** @throws Error for an unsupported option of curl. */
export function commandOf([program, ...words]: readonly string[]): Command {
  if (program !== "curl") throw new Error(`${program} is not curl`);
  const command: Command = { method: "GET", url: "", headers: {} };
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (!word.startsWith("-")) {
      command.url = word;
      continue;
    }
    const value = words[++i] ?? "";
    if (word === "--request") command.method = value;
    else if (word === "--data-binary") command.body = value;
    else if (word === "--form") {
      const [, name = "", text = "", filename, type = ""] =
        /^([^=]+)=([^;]*)(?:;filename=([^;]+))?;type=(.+)$/s.exec(value) ?? [];
      const form = command.body instanceof FormData ? command.body : new FormData();
      // Only a file part has a type.
      form.append(name, new File([text], filename ?? "blob", { type }));
      command.body = form;
    } else if (word === "--header") {
      const [, name = "", text = ""] = /^([\w-]+): (.*)$/s.exec(value) ?? [];
      command.headers[name] = text;
    } else throw new Error(`curl has no ${word} here`);
  }
  return command;
}
