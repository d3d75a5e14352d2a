/**
 * Keys of a body that have no meaning here. The vendor adds keys to its schema, and its newest
 * clients send them: one that says that nothing is asked for is kept and echoed, so that a
 * declarative client finds what it sent. Any other is refused: no option is ignored in silence.
 */
import * as z from "zod";
import type { Fault } from "../../base/errors.ts";
import { escapePointer } from "../../base/errors.ts";
import { hint, isNear, quote } from "../../formats/filter/fields.ts";

/** Names of keys, ours among them. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const UNKNOWN = "unknown key, accepted only as false, null, 0 or empty";

/** Values that ask for nothing. */
const Nothing = z
  .union(
    [
      z.literal([false, null, 0, ""]),
      z.array(z.unknown()).max(0, UNKNOWN),
      z
        .looseObject({})
        .refine((value) => Object.keys(value).length === 0, UNKNOWN)
        .meta({ maxProperties: 0 }),
    ],
    UNKNOWN,
  )
  .meta({ description: "An unknown key: kept and echoed, without effect." });

/** An object that may have unknown keys that ask for nothing. The type leaves them out. */
export function tolerant<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const object = z
    .object(shape)
    .catchall(Nothing)
    .meta({ propertyNames: { pattern: NAME.source } });
  return object as unknown as z.ZodObject<Shape, z.core.$strict>;
}

/** Most unknown keys of one object. */
const NAMES_MAX = 16;

/** The unknown keys of a body, and what is wrong with them. */
export interface Spare {
  names: string[];
  faults: Fault[];
}

/**
 * Finds unknown keys. A name that is nearly a known one is a slip, and refused whatever it holds.
 * @param base JSON pointer of the object.
 */
export function readSpare(base: string, object: object, known: readonly string[]): Spare {
  const names = Object.keys(object).filter((name) => !known.includes(name));
  const many = tooMany(base, names.length);
  if (many.length > 0) return { names, faults: many };
  const faults = names.flatMap((name) => {
    const meant = known.find((candidate) => isNear(name, candidate));
    if (meant === undefined && NAME.test(name)) return [];
    return [{ pointer: `${base}/${escapePointer(name)}`, message: `unknown key ${quote(name)}${hint(meant)}` }];
  });
  return { names, faults };
}

/**
 * The fault of having so many unknown keys, if that is one. @param base JSON pointer of the object.
 */
export function tooMany(base: string, names: number): Fault[] {
  return names > NAMES_MAX ? [{ pointer: base, message: `has ${names} unknown keys, at most ${NAMES_MAX}` }] : [];
}
