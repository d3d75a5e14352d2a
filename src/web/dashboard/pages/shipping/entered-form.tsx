import type { Child, FC, PropsWithChildren } from "hono/jsx";
import type { PageContext } from "../../page.ts";
import { faultsOf } from "../../parts/destination-entry.ts";
import { Button, DO_FIELD, Form } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { DestinationPart, type Entered, type Origin, readEntered, soFar } from "./destination.tsx";
import { isOfStore, type Tested, testOf, WhatTestDoes } from "./test-write.tsx";

/** A form of a destination and little else: what was entered, and what came of it. */
export interface EnteredView {
  entered: Entered;
  tested?: Tested;
}

/** Takes such a form. @returns `use`, once it is tested and to be used. */
export async function takeEntered(
  page: PageContext,
  form: URLSearchParams,
  origin: Origin,
): Promise<EnteredView & { use?: string }> {
  const entered = readEntered(page, form, origin);
  const what = form.get(DO_FIELD) ?? "";
  if (/^kind:/.test(what)) return { entered: soFar(entered) };
  const { conf } = entered;
  if (conf === null) return { entered };
  const tested = await testOf(page, conf);
  if (!tested.ok && !isOfStore(tested.message))
    return { entered: { ...entered, faults: faultsOf(entered.whole, tested.message) } };
  return { entered, tested, ...(tested.ok && what === "start" && { use: conf }) };
}

export function isRefused({ entered: { faults } }: EnteredView): boolean {
  return Object.keys(faults).length > 0;
}

/**
 * Shows such a form. Its children stand before its buttons. @param carried more of what it carries.
 * @param about beside what the test does. @param start the label of the button.
 */
export const EnteredForm: FC<
  PropsWithChildren<{
    page: PageContext;
    origin: Origin;
    shown: EnteredView;
    action: string;
    carried?: Child;
    about: Child;
    start: string;
    disabled?: boolean;
  }>
> = ({ page, origin, shown: { entered, tested }, action, carried, about, start, disabled, children }) => (
  <Panel id="destination" title="Destination">
    <Form viewer={page.viewer} action={action} label="Destination">
      {/* Enter presses the first button of a form. */}
      <Button name={DO_FIELD} value="test" class="unseen" tabindex={-1} label="Test" />
      {carried}
      <DestinationPart page={page} origin={origin} entered={entered} tested={tested} />
      {children}
      <p class="quiet">
        <WhatTestDoes entry={entered.whole} /> {about}
      </p>
      <div class="actions">
        <Button name={DO_FIELD} value="start" class="primary" disabled={disabled === true} label={start} />
        <Button name={DO_FIELD} value="test" label="Test" />
      </div>
    </Form>
  </Panel>
);
