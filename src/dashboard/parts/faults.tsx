import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../errors.ts";
import { Errors } from "./failure.tsx";

/** What the API found wrong with what a form sent, by the fields of the form. */
export interface Faults {
  /** At a field, in words. */
  at(field: string): string | undefined;
  /** What is about none of them. */
  rest: readonly ErrorEntry[];
}

export const NO_FAULTS: Faults = { at: () => undefined, rest: [] };

/** @param fields by the first part of the JSON pointer: most forms call them as the API does. */
export function faultsOf(errors: readonly ErrorEntry[], fields: readonly string[]): Faults {
  const fieldOf = ({ source }: ErrorEntry): string | undefined =>
    fields.find((field) => source?.pointer === `/${field}` || source?.pointer.startsWith(`/${field}/`));
  return {
    at(field) {
      const texts = errors.filter((entry) => fieldOf(entry) === field).map(({ message }) => message);
      return texts.length === 0 ? undefined : texts.join("; ");
    },
    rest: errors.filter((entry) => fieldOf(entry) === undefined),
  };
}

/** What is wrong beside the fields. */
export const RestOf: FC<{ faults: Faults; title: string }> = ({ faults, title }) =>
  faults.rest.length === 0 ? null : <Errors title={title} errors={faults.rest} />;
