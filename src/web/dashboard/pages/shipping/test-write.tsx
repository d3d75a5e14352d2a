import type { FC } from "hono/jsx";
import { CODE } from "../../../../base/errors.ts";
import { probeKey } from "../../../../formats/object/keys.ts";
import { withoutOuterSlashes } from "../../../../ship/destinations/conf.ts";
import type { Values } from "../../../../ship/destinations/destination-form.ts";
import { type DestinationEntry, requireForm } from "../../../../ship/destinations/entry.ts";
import { answerIn, remedyFor } from "../../../../ship/destinations/remedies.ts";
import { InnerFailure } from "../../inner-api.ts";
import type { PageContext } from "../../page.ts";
import { type EntryFaults, faultsOf } from "../../parts/destination-entry.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Button, DO_FIELD } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";

/** How a test write ended. */
export interface Tested {
  ok: boolean;
  /** As the API says it. */
  message: string;
  /** What a destination that works does not allow or promise. */
  remarks: readonly string[];
  /** Another job ships there. */
  shared: boolean;
}

/** The values to try next, as the answer to a test suggests. null: it suggests none. */
export function mendOf(entry: DestinationEntry, message: string): { values: Values; words: string } | null {
  const answer = answerIn(message);
  return answer === null ? null : (requireForm(entry).mend?.(entry.values, answer) ?? null);
}

/** What to change after a failed test write. @param message the API's. */
export function adviceOn(message: string): string {
  return remedyFor(message) ?? "Check the destination.";
}

/** Whether the destination refused, rather than being invalid. */
export function isOfStore(message: string): boolean {
  return /^error (?:writing|sending) /.test(message);
}

/** A fault of the API beside the field that it concerns, with what to change. */
export function placedFault(entry: DestinationEntry, message: string): EntryFaults {
  const [[field, words] = ["whole", message]] = Object.entries(faultsOf(entry, message));
  return { [field]: isOfStore(message) ? `${adviceOn(message)} (${words})` : words };
}

/** Writes a test object, as creating a job does. */
export async function testOf({ api }: PageContext, destination_conf: string): Promise<Tested> {
  const [verdict, exists] = await Promise.all([
    api.send<{ valid: boolean; message: string }>("POST", "/logship/validate/destination", { destination_conf }),
    api.send<{ exists: boolean }>("POST", "/logship/validate/destination/exists", { destination_conf }),
  ]);
  if (!verdict.ok) {
    const tooLong = verdict.errors.find(({ code }) => code === CODE.invalid);
    if (tooLong === undefined) throw new InnerFailure(verdict.status, verdict.errors);
    return { ok: false, message: tooLong.message, remarks: [], shared: false };
  }
  const { valid, message } = verdict.result;
  const remarks = verdict.messages.map((note) => note.message.replace(/^destination_conf: /, ""));
  return { ok: valid, message, remarks, shared: exists.ok && exists.result.exists };
}

/** How a test ended. Its button to mend belongs to the form around it. */
export const Outcome: FC<{ tested: Tested; entry: DestinationEntry }> = ({ tested, entry }) => {
  const { isReadable } = requireForm(entry).terms;
  if (!tested.ok) {
    const mend = mendOf(entry, tested.message);
    return (
      <Notice kind="bad" title="Test failed">
        <p>{adviceOn(tested.message)}</p>
        <Foreign as="p" class="quiet" text={tested.message} max={500} />
        {mend !== null && (
          <>
            <input type="hidden" name="told" value={tested.message} />
            <Button name={DO_FIELD} value="mend" formaction="#destination" label={mend.words} />
          </>
        )}
      </Notice>
    );
  }
  return (
    <>
      <Notice kind="ok" title="Reachable and writable">
        {tested.remarks.map((remark) => (
          <p>
            It works: <Foreign text={remark} max={500} />.
          </p>
        ))}
      </Notice>
      {tested.shared && (
        <Notice kind="warn" title={isReadable ? "Another job ships to the same folder" : "Another job ships there"}>
          <p>
            {isReadable
              ? "Object names never collide, but a reader of the folder gets the records of both jobs."
              : "The log service gets the records of both jobs."}
          </p>
        </Notice>
      )}
    </>
  );
};

/** What a test leaves at a destination. */
export const WhatTestDoes: FC<{ entry: DestinationEntry }> = ({ entry }) =>
  requireForm(entry).group === "store" ? (
    <>
      The test writes a small object, such as{" "}
      <Foreign as="code" text={probeKey(withoutOuterSlashes(entry.values.path ?? ""))} max={1_024} />. You can delete
      it.
    </>
  ) : requireForm(entry).testLeavesNothing === true ? (
    <>The test sends a request without a record.</>
  ) : (
    <>The test sends one small record.</>
  );
