/** Pages on which a destination is entered, tested, and used once. */
import type { Child } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { requireForm } from "../../../../ship/destinations/entry.ts";
import { formPage, type Page, type PageAnswer, type PageContext, pathOf, type View } from "../../page.ts";
import { faultsOf as faultsOfEntry } from "../../parts/destination-entry.ts";
import { type Faults, faultsOf, RestOf } from "../../parts/faults.tsx";
import { Button, DO_FIELD, Form } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Token } from "../job/replay-begin.tsx";
import { begun, DestinationPart, type Entered, type Origin, readEntered, soFar } from "./destination.tsx";
import { isOfStore, type Tested, testOf, WhatTestDoes } from "./test-write.tsx";

/** What such a page is about. */
interface About extends Pick<View, "title" | "trail"> {
  /** Above the form. */
  panel: Child;
  /** What the form carries and has beside the destination. */
  carried?: Child;
  controls?: Child;
  /** Beside what the test does. */
  hint: string;
  /** The label of its button, and the title over a refusal. */
  start: string;
  failure: string;
  disabled?: boolean;
}

/** Of what is sent: an object, a time of a job. */
export interface Use<T> {
  /** @param sent the form, or the query. @returns a response: there is nothing to send. */
  load(page: PageContext, sent: URLSearchParams): Promise<T | Response>;
  origin(page: PageContext): Origin;
  about(of: T, form: URLSearchParams | null, faults: Faults): About;
  /** @param conf was tested. @returns why it was refused, or where to. */
  send(page: PageContext, of: T, conf: string, form: URLSearchParams): Promise<Response | readonly ErrorEntry[]>;
}

export function enteredPage<T extends object>(path: string, use: Use<T>): Page {
  const show = async (page: PageContext): Promise<PageAnswer> => {
    const of = await use.load(page, page.query);
    return of instanceof Response ? of : view(page, use, of, { entered: begun(page, use.origin(page)) });
  };
  const take = async (page: PageContext, form: URLSearchParams): Promise<PageAnswer> => {
    const of = await use.load(page, form);
    if (of instanceof Response) return of;
    const { conf, ...shown } = await takeEntered(page, form, use.origin(page));
    if (conf === undefined) return view(page, use, of, shown, form);
    const sent = await use.send(page, of, conf, form);
    return sent instanceof Response ? sent : view(page, use, of, { entered: shown.entered }, form, sent);
  };
  return formPage(path, "logs:edit", show, take);
}

/** What was entered, and what came of its test. */
interface Shown {
  entered: Entered;
  tested?: Tested;
}

/** @returns `conf`, once it is tested and to be used. */
async function takeEntered(
  page: PageContext,
  form: URLSearchParams,
  origin: Origin,
): Promise<Shown & { conf?: string }> {
  const entered = readEntered(page, form, origin);
  const what = form.get(DO_FIELD) ?? "";
  if (/^kind:/.test(what)) return { entered: soFar(entered) };
  const { conf } = entered;
  if (conf === null) return { entered };
  const tested = await testOf(page, conf);
  if (!tested.ok && !isOfStore(tested.message))
    return { entered: { ...entered, faults: faultsOfEntry(entered.whole, tested.message) } };
  return { entered, tested, ...(tested.ok && what === "start" && { conf }) };
}

function view<T>(
  page: PageContext,
  use: Use<T>,
  of: T,
  { entered, tested }: Shown,
  form: URLSearchParams | null = null,
  errors: readonly ErrorEntry[] = [],
): View {
  const faults = faultsOf(errors, ["allow_duplicates", "ownership_challenge"]);
  const { panel, carried, controls, hint, start, failure, disabled = false, ...head } = use.about(of, form, faults);
  const isRefused = Object.keys(entered.faults).length > 0 || errors.length > 0;
  return {
    ...head,
    status: isRefused ? 400 : 200,
    parts: [
      panel,
      <RestOf faults={faults} title={failure} />,
      <Panel id="destination" title="Destination">
        <Form viewer={page.viewer} action={pathOf(page)} label="Destination">
          {/* Enter presses the first button of a form. */}
          <Button name={DO_FIELD} value="test" class="unseen" tabindex={-1} label="Test" />
          {carried}
          <DestinationPart page={page} origin={use.origin(page)} entered={entered} tested={tested} />
          {requireForm(entered.entry).terms.isReadable && (
            <Token
              page={page}
              value={form?.get("ownership_challenge") ?? ""}
              error={faults.at("ownership_challenge")}
            />
          )}
          {controls}
          <p class="quiet">
            <WhatTestDoes entry={entered.whole} /> {hint}
          </p>
          <div class="actions">
            <Button name={DO_FIELD} value="start" class="primary" disabled={disabled} label={start} />
            <Button name={DO_FIELD} value="test" label="Test" />
          </div>
        </Form>
      </Panel>,
    ],
  };
}
