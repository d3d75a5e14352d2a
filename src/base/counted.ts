/** `1 record`, `2 records`. */
export function counted(count: number, what: string): string {
  return `${count} ${count === 1 ? what.replace(/s$/, "") : what}`;
}
