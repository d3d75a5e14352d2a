import { bytes, count, plural } from "../../../../base/words.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Form, may } from "../../parts/form.tsx";
import { paged } from "../../parts/pager.tsx";
import { figures, Notice, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import { type AsideView, AT, amountOf, placeOf, Whence } from "./entry.tsx";

export const asideListPages: readonly Page[] = [{ path: AT, get: { permission: "logs:edit", show: listView } }];

const PER_PAGE = 20;

async function listView(context: PageContext): Promise<View> {
  const { query, viewer, nowMs } = context;
  const asked = { of: "entries", perPage: PER_PAGE };
  const { items, info, pager } = await paged<AsideView>(context, "/logship/set-aside", asked);
  const silent = info.unanswered_jobs as readonly number[];
  const sendable = items.filter(({ resendable }) => resendable);
  const total = info.total_count;
  const [, job, number] = /^(\d{1,15})-(\d{1,15})$/.exec(query.get("sent") ?? "") ?? [];
  return {
    title: "On hold",
    parts: [
      query.has("deleted") && <Notice kind="ok" title="Deleted, and counted as discarded" />,
      job !== undefined && (
        <Notice kind="ok" title="On its way to the other destination">
          <p>
            <a href={`/jobs/${job}/objects/${number}`}>Object {number}</a> of job {job}. If the destination rejects it,
            it returns here.
          </p>
        </Notice>
      ),
      silent.length > 0 && (
        <Notice kind="warn" title="Incomplete list">
          <p>
            No answer from {plural(silent.length, "job")}: {silent.slice(0, 20).join(", ")}
            {silent.length > 20 && " …"}. Their entries are missing here.
          </p>
        </Notice>
      ),
      <p>
        Messages and objects that logship could not process stay here until you resend or delete them. Resending is
        safe: a store gets nothing twice, and at a log service records keep their ids.
      </p>,
      <Panel
        id="aside"
        title={total === 0 ? "Nothing on hold" : `${count(total)} on hold`}
        aside={
          sendable.length > 1 &&
          may(viewer, "logs:edit") && (
            <>
              {total > items.length && (
                <Action viewer={viewer} action={`${AT}/resend-all`} label={`Resend all ${count(total)}`} />
              )}
              <Form viewer={viewer} action={`${AT}/resend`}>
                {sendable.map(({ id }) => (
                  <input type="hidden" name="id" value={id} />
                ))}
                <button type="submit">Resend all {sendable.length} on this page</button>
              </Form>
            </>
          )
        }
      >
        {total === 0 && silent.length === 0 ? (
          <p class="quiet">
            Messages that logship cannot process, and objects that the destination rejects, appear here.
          </p>
        ) : (
          items.length > 0 && (
            <Table
              caption="On hold"
              columns={["What", "Why", figures("Holds"), figures("Size"), "Since", ""]}
              rows={items.map((entry) => [
                <>
                  <a href={placeOf(entry.id)}>{entry.id}</a>
                  <br />
                  <span class="quiet">
                    <Whence of={entry} />
                  </span>
                </>,
                <>
                  <Foreign text={entry.why} max={300} />
                  {entry.why_not !== null && (
                    <p class="quiet">
                      Cannot be resent: <Foreign text={entry.why_not} max={300} />
                    </p>
                  )}
                </>,
                amountOf(entry),
                bytes(entry.bytes),
                <Ago at={entry.set_aside_at} nowMs={nowMs} />,
                <>
                  {entry.resendable && (
                    <Action
                      viewer={viewer}
                      action={`${AT}/resend`}
                      label="Resend"
                      about={entry.id}
                      kind="small"
                      fields={{ id: entry.id }}
                    />
                  )}{" "}
                  <a href={`${placeOf(entry.id)}/delete`}>
                    Delete<span class="unseen"> {entry.id}</span>
                  </a>
                </>,
              ])}
            />
          )
        )}
        {pager}
      </Panel>,
    ],
  };
}
