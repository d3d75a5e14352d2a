/**
 * Reads CSV as RFC 4180 has it, and nothing but that. The file's own line end is a line feed.
 * @throws if a quote stands anywhere but around a value or doubled inside one.
 */
export function readCsv(text: string, delimiter: string): string[][] {
  const rows: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const row: string[] = [];
    for (;;) {
      let value = "";
      if (text[at] === '"') {
        at += 1;
        for (;;) {
          const quote = text.indexOf('"', at);
          if (quote === -1) throw new Error(`row ${rows.length}: a value is not closed`);
          value += text.slice(at, quote);
          at = quote + 1;
          if (text[at] !== '"') break;
          value += '"';
          at += 1;
        }
      } else {
        const start = at;
        while (at < text.length && text[at] !== delimiter && text[at] !== "\n") at += 1;
        value = text.slice(start, at);
        if (value.includes('"')) throw new Error(`row ${rows.length}: a quote in a bare value`);
      }
      row.push(value);
      const end = text[at] ?? "\n";
      at += 1;
      if (end === "\n") break;
      if (end !== delimiter) throw new Error(`row ${rows.length}: ${JSON.stringify(end)} behind a value`);
    }
    rows.push(row);
  }
  return rows;
}
