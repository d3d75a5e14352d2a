import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeParts } from "../../src/queue/message.ts";
import { headerOf, takenOf } from "../../src/trace-log/aside-header.ts";
import { NOON } from "../record/samples.ts";

describe("the header of a message that is set aside", () => {
  it("says what the message is remembered by, a repeat's first copy included", () => {
    const id = fc.stringMatching(/^[0-9a-f]{32}$/);
    const firstMs = fc.option(fc.nat({ max: NOON - 1 }), { nil: undefined });
    fc.assert(
      fc.property(id, fc.boolean(), firstMs, (each, keyed, first) => {
        const taken = { id: each, takenInMs: NOON, keyed, ...(first !== undefined && { firstMs: first }) };
        const message = encodeParts([{ ...taken, records: 0 }], new Uint8Array()).buffer;
        expect(takenOf(headerOf(message, taken))).toEqual(taken);
      }),
    );
  });

  it("says nothing where the message says nothing", () => {
    expect(takenOf(headerOf(new Uint8Array([1, 2, 3]).buffer, {}))).toBeNull();
    expect(takenOf(headerOf(new ArrayBuffer(100), {}))).toBeNull();
  });
});
