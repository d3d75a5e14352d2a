import { FORMAT, FORMATS, type FormatName } from "../../../../operate/alerts/alert-formats.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Button, Form, Select } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { oneAlertPages } from "./alert.tsx";
import { askedOfAlert, FIELDS, noteQuery, type Refused, Settings } from "./alert-settings.tsx";
import { ALERTS_AT, readReceivers, WEBHOOK_AT } from "./alert-view.tsx";
import { AlertsPanel } from "./alerts-panel.tsx";

export const alertPages: readonly Page[] = [formPage(ALERTS_AT, "logs:edit", listView, add), ...oneAlertPages];

async function listView(context: PageContext, refused: Refused | null = null): Promise<View> {
  const { viewer, nowMs, query } = context;
  const form = refused?.form ?? query;
  const format = formatOf(form.get("format"));
  return {
    title: "Alerts",
    status: refused?.status ?? 200,
    parts: [
      query.has("deleted") && <Notice kind="ok" title="Deleted" />,
      <RestOf faults={refused?.faults ?? NO_FAULTS} title="Not added" />,
      <AlertsPanel receivers={await readReceivers(context)} viewer={viewer} nowMs={nowMs} />,
      <Panel id="add" title="Add an alert">
        <form method="get" action={ALERTS_AT} class="filter" aria-label="Kind of alert">
          <Select
            name="format"
            label="Where alerts go"
            value={format ?? undefined}
            options={[
              { value: "", label: "choose …" },
              ...FORMATS.map((value) => ({ value, label: FORMAT[value].label })),
            ]}
          />
          <button type="submit">Continue</button>
        </form>
        {format === null ? (
          <p class="quiet">
            Or a <a href={WEBHOOK_AT}>webhook</a>: signed JSON for your own service.
          </p>
        ) : (
          <Form viewer={viewer} action={ALERTS_AT} label={`Add ${FORMAT[format].label}`}>
            <input type="hidden" name="format" value={format} />
            <Settings format={format} form={refused?.form ?? null} faults={refused?.faults ?? NO_FAULTS} of={null} />
            <Button class="primary" label="Add and test" />
          </Form>
        )}
      </Panel>,
    ],
  };
}

function formatOf(text: string | null): FormatName | null {
  return FORMATS.find((format) => format === text) ?? null;
}

/** Adds a receiver and tests it; its page says how that went. */
async function add(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const body = { format: form.get("format"), ...askedOfAlert(form) };
  const answer = await context.api.send<Alert>("POST", "/logship/alerts", body);
  if (answer.ok) {
    const { id } = answer.result;
    // What keeps it from being sent is no fault of the form: the page then asks for a test.
    await context.api.send("POST", `/logship/alerts/${id}/test`);
    return seeOther(`${ALERTS_AT}/${id}?added${noteQuery(answer.result.format, form)}`);
  }
  return listView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
}
