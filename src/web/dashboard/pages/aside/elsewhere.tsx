import type * as z from "zod";
import type { Shown } from "../../../api/docs/set-aside.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, seeOther } from "../../page.ts";
import { Panel } from "../../parts/panel.tsx";
import { originOf } from "../shipping/destination.tsx";
import { enteredPage } from "../shipping/entered-page.tsx";
import { AT, amountOf, placeOf } from "./entry.tsx";

type Read = z.infer<typeof Shown>;
type ObjectRead = Extract<Read, { kind: "object" }>;

/** The folder in a new form. */
const FOLDER = "set-aside";

/** An object is sent to a destination of its own, entered as that of a job. */
export const elsewherePages: readonly Page[] = [
  enteredPage<ObjectRead>(`${AT}/:id/elsewhere`, {
    origin: (page) => originOf(page, `entry on hold ${page.params.id ?? ""}`, FOLDER),
    async load({ api, params: { id = "" } }) {
      const entry = await api.get<Read>(`/logship/set-aside/${encodeURIComponent(id)}`);
      // A message goes to jobs alone.
      return entry.kind === "object" && entry.resendable ? entry : seeOther(placeOf(id));
    },
    about: (object) => ({
      title: "Send elsewhere",
      trail: [{ href: placeOf(object.id), label: object.id }],
      panel: (
        <Panel id="about" title="Details">
          <p>
            {amountOf(object)} of <a href={`/jobs/${object.job}`}>job {object.job}</a>, as written. If the destination
            refuses it, it returns to this list.
          </p>
        </Panel>
      ),
      hint: "logship keeps the keys until the object is delivered, or on hold again.",
      start: "Test and send",
      failure: "The object was not sent",
    }),
    async send({ api, params: { id = "" } }, _object, conf, form) {
      const challenge = (form.get("ownership_challenge") ?? "").trim();
      const answer = await api.send<{ job: number; rerun?: string; number: number }>(
        "POST",
        `/logship/set-aside/${encodeURIComponent(id)}/resend`,
        { destination_conf: conf, ...(challenge !== "" && { ownership_challenge: challenge }) },
      );
      if (answer.ok) {
        const { job, rerun, number } = answer.result;
        return seeOther(rerun === undefined ? `${AT}?sent=${job}-${number}` : `/jobs/${job}/replay`);
      }
      if (answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
      return answer.errors;
    },
  }),
];
