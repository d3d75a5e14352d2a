import { requireStored } from "../../base/errors.ts";
import { watch } from "../../operate/alerts/watch.ts";
import { type KnownKind, shownKinds } from "../../operate/status/function-kinds.ts";
import type { Pulse } from "../../operate/status/rhythm.ts";
import { cronKind, cronOf, SCHEDULED } from "../../ship/log/seen-kinds.ts";
import { controlPlane, type FunctionChange } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import { type ExpectView, PUT_EXPECT, READ_EXPECT } from "./docs/function-expect.ts";
import { isoTime, success } from "./envelope.ts";
import { requireFunction, requireInForce, scriptName } from "./functions.ts";
import type { AppContext, Resources } from "./route.ts";

export const functionExpectRoutes: Resources = {
  "/:script_name/expect": {
    GET: { permission: "logs:read", doc: READ_EXPECT, handle: readExpect },
    PUT: { permission: "logs:edit", action: "function.expect", doc: PUT_EXPECT, handle: putExpect },
  },
};

async function readExpect(c: AppContext): Promise<Response> {
  const { name, setting, count } = await requireFunction(c);
  const pulses: unknown = await watch(c.env.WATCH).kindPulses(name);
  const kinds = shownKinds(pulses as [string, Pulse][], setting, count);
  return success(c, { id: name, kinds: kinds.map(presentKind) } satisfies ExpectView);
}

/** An unknown function can be set, too: before its first event. */
async function putExpect(c: AppContext): Promise<Response> {
  const name = scriptName(c);
  const { event_type, cron, every_minutes: everyMinutes } = await bodyOf(c, PUT_EXPECT);
  const kind = cron === undefined ? event_type : cronKind(cron);
  const change: FunctionChange = await controlPlane(c.env.CONTROL).setFunction(name, {
    expect: { kind, everyMinutes },
  });
  const stored = requireInForce(change, name)?.expect?.find((each) => each.kind === kind) ?? {};
  requireStored(`what is expected of ${JSON.stringify(name)}`, { everyMinutes }, stored);
  return readExpect(c);
}

function presentKind({ kind, everyMinutes, facts, lastMs }: KnownKind): ExpectView["kinds"][0] {
  const cron = cronOf(kind);
  return {
    ...{ event_type: cron === null ? kind : SCHEDULED, cron, every_minutes: everyMinutes, by: facts?.by ?? null },
    ...{ last_event: isoTime(lastMs), quiet_after: isoTime(facts?.quietAfterMs ?? null) },
  };
}
