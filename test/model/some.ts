/** @throws Error if there is none, which would be an error of the model itself. */
export function some<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("the model expects something here");
  return value;
}
