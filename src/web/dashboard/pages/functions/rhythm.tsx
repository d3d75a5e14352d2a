import type { Child, FC } from "hono/jsx";
import { MINUTE_MS } from "../../../../base/time.ts";
import { duration } from "../../../../base/words.ts";
import { cronKind, cronOf, KIND_MAX, SCHEDULED } from "../../../../ship/log/seen-kinds.ts";
import type { ExpectView } from "../../../api/docs/function-expect.ts";
import { type PageContext, seeOther } from "../../page.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Action, Field, Form, may, Submit } from "../../parts/form.tsx";
import { Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { functionPath, scriptPath } from "./logging.tsx";

type Kind = ExpectView["kinds"][number];

function routeOf(name: string): string {
  return `${scriptPath(name)}/expect`;
}

/** @throws InnerFailure */
export async function loadKinds({ api }: PageContext, name: string): Promise<readonly Kind[]> {
  return (await api.get<ExpectView>(routeOf(name))).kinds;
}

/** As a form has it. */
function kindText({ event_type, cron }: Pick<Kind, "event_type" | "cron">): string {
  return cron === null ? event_type : cronKind(cron);
}

/** How often which kind of event is expected. @param chosen a kind for the form; null: none. */
export const RhythmPanel: FC<{
  name: string;
  kinds: readonly Kind[];
  chosen: string | null;
  viewer: Viewer;
  nowMs: number;
}> = ({ name, kinds, chosen, viewer, nowMs }) => (
  <Panel id="rhythm" title="Rhythm">
    {kinds.length > 0 && (
      <Table
        caption="Kinds of events, the latest first"
        columns={["Kind of event", "Last seen", "Expected", "Reported if silent", ""]}
        rows={kinds.map((kind) => cells(kind, name, viewer, nowMs))}
      />
    )}
    {may(viewer, "logs:edit") ? (
      <Form viewer={viewer} action={`${functionPath(name)}/expect`} label="Expect events" class="filter">
        <Field
          name="kind"
          label="Expect (fetch, queue, cron */10 * * * *)"
          value={visible((chosen ?? "").slice(0, KIND_MAX))}
          required
          spellcheck={false}
          autocomplete="off"
        />
        <Field name="every_minutes" label="Every … minutes" type="number" min={1} required />
        <Submit label="Expect" />
      </Form>
    ) : (
      <p class="quiet">To set what is expected needs the permission logs:edit.</p>
    )}
  </Panel>
);

function cells(kind: Kind, name: string, viewer: Viewer, nowMs: number): Child[] {
  const { last_event, quiet_after, every_minutes, by } = kind;
  const text = kindText(kind);
  const query = new URLSearchParams({ kind: text });
  return [
    <Foreign text={text} max={120} as="code" />,
    last_event === null ? <span class="quiet">never</span> : <Ago at={last_event} nowMs={nowMs} />,
    every_minutes !== null
      ? `every ${duration(every_minutes * MINUTE_MS)}, as set`
      : by === "cron"
        ? "as its expression says"
        : by === "learned"
          ? "as learned"
          : "not known yet",
    quiet_after === null ? "" : <Ago at={quiet_after} nowMs={nowMs} />,
    may(viewer, "logs:edit") && (
      <div class="actions">
        <a href={`${functionPath(name)}?${query}#rhythm`}>
          Set<span class="unseen"> {visible(text)}</span>
        </a>
        <Action
          viewer={viewer}
          action={`${functionPath(name)}/expect`}
          label="Forget"
          about={visible(text)}
          kind="small"
          fields={{ kind: text }}
        />
      </div>
    ),
  ];
}

/** Without a number of minutes, what was set and learned is forgotten. */
export async function expect({ api, params }: PageContext, form: URLSearchParams): Promise<Response> {
  const name = params.name ?? "";
  const kind = (form.get("kind") ?? "").trim();
  const cron = cronOf(kind);
  const minutes = form.get("every_minutes");
  await api.change("PUT", routeOf(name), {
    ...(cron === null ? { event_type: kind } : { event_type: SCHEDULED, cron }),
    every_minutes: minutes !== null && /^\d+$/.test(minutes.trim()) ? Number(minutes) : minutes,
  });
  return seeOther(`${functionPath(name)}#rhythm`);
}
