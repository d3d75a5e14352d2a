import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../base/errors.ts";
import { Errors } from "./failure.tsx";

/** Errors of the API, by form field. */
export interface Faults {
  /** The messages of a field. */
  at(field: string): string | undefined;
  /** Errors of no field. */
  rest: readonly ErrorEntry[];
}

export const NO_FAULTS: Faults = { at: () => undefined, rest: [] };

/** @param fields the first segments of the JSON pointers. */
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

/** The same without the names that the API has for the fields: a form has labels. */
export function unnamed(faults: Faults): Faults {
  return {
    ...faults,
    at: (field) =>
      faults
        .at(field)
        ?.split("; ")
        .map(without(`${field}: `))
        .join("; "),
  };
}

const without =
  (prefix: string) =>
  (text: string): string =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text;

export const RestOf: FC<{ faults: Faults; title: string }> = ({ faults, title }) =>
  faults.rest.length === 0 ? null : <Errors title={title} errors={faults.rest} />;
