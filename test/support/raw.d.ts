/** A page of the docs, as text. */
declare module "*.md?raw" {
  const text: string;
  export default text;
}
