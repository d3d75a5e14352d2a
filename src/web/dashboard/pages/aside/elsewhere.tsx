import type * as z from "zod";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { requireForm } from "../../../../ship/destinations/entry.ts";
import type { Shown } from "../../../api/docs/set-aside.ts";
import { InnerFailure } from "../../inner-api.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { faultsOf, RestOf } from "../../parts/faults.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Token } from "../job/replay-begin.tsx";
import { begun, type Origin, originOf } from "../shipping/destination.tsx";
import { EnteredForm, type EnteredView, isRefused, takeEntered } from "../shipping/entered-form.tsx";
import { AT, amountOf, placeOf, TRAIL } from "./entry.tsx";

/** An object is sent to a destination of its own, entered as that of a job. */
export const elsewherePages: readonly Page[] = [formPage(`${AT}/:id/elsewhere`, "logs:edit", show, take)];

type Read = z.infer<typeof Shown>;
type ObjectRead = Extract<Read, { kind: "object" }>;

/** The folder in a new form. */
const FOLDER = "set-aside";

const originAt = (page: PageContext): Origin => originOf(page, `set-aside entry ${page.params.id ?? ""}`, FOLDER);

/** null: a message, which goes to jobs alone, or what cannot be resent at all. */
async function objectOf({ api, params }: PageContext): Promise<ObjectRead | null> {
  const entry = await api.get<Read>(`/logship/set-aside/${encodeURIComponent(params.id ?? "")}`);
  return entry.kind === "object" && entry.resendable ? entry : null;
}

const without = ({ params }: PageContext): Response => seeOther(placeOf(params.id ?? ""));

async function show(page: PageContext): Promise<PageAnswer> {
  const object = await objectOf(page);
  return object === null ? without(page) : view(page, object, { entered: begun(page, originAt(page)) });
}

async function take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const object = await objectOf(page);
  if (object === null) return without(page);
  const { use: conf, ...shown } = await takeEntered(page, form, originAt(page));
  if (conf === undefined) return view(page, object, shown, form);
  const challenge = (form.get("ownership_challenge") ?? "").trim();
  const answer = await page.api.send<{ job: number; rerun?: string; number: number }>(
    "POST",
    `/logship/set-aside/${encodeURIComponent(page.params.id ?? "")}/resend`,
    { destination_conf: conf, ...(challenge !== "" && { ownership_challenge: challenge }) },
  );
  if (answer.ok) {
    const { job, rerun, number } = answer.result;
    return seeOther(rerun === undefined ? `${AT}?sent=${job}-${number}` : `/jobs/${job}/replay`);
  }
  if (answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  const { tested: _, ...untested } = shown;
  return view(page, object, untested, form, answer.errors);
}

function view(
  page: PageContext,
  object: ObjectRead,
  shown: EnteredView,
  form?: URLSearchParams,
  errors: readonly ErrorEntry[] = [],
): View {
  const at = `${placeOf(object.id)}/elsewhere`;
  const refusals = faultsOf(errors, ["ownership_challenge"]);
  return {
    title: "Send elsewhere",
    section: "set-aside",
    status: isRefused(shown) || errors.length > 0 ? 400 : 200,
    trail: [...TRAIL, { href: placeOf(object.id), label: object.id }],
    parts: [
      <Panel id="about" title="Details">
        <p>
          {amountOf(object)} of <a href={`/jobs/${object.job}`}>job {object.job}</a>, as written. If the destination
          refuses it, it returns to this list.
        </p>
      </Panel>,
      <RestOf faults={refusals} title="The object was not sent" />,
      <EnteredForm
        page={page}
        origin={originAt(page)}
        shown={shown}
        action={at}
        about="The keys are kept until the object is delivered, or set aside again."
        start="Test and send"
      >
        {requireForm(shown.entered.entry).terms.isReadable && (
          <Token
            page={page}
            value={form?.get("ownership_challenge") ?? ""}
            error={refusals.at("ownership_challenge")}
          />
        )}
      </EnteredForm>,
    ],
  };
}
