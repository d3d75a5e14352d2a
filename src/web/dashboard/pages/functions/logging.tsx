import type { FC } from "hono/jsx";
import { visible } from "../../parts/foreign.tsx";
import { Form, may } from "../../parts/form.tsx";
import { State } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { FunctionView } from "../../views/account.ts";

export function functionPath(name: string): string {
  return `/functions/${encodeURIComponent(name.toWellFormed())}`;
}

/** The same function in the API. */
export function scriptPath(name: string): string {
  return `/functions/scripts/${encodeURIComponent(name.toWellFormed())}`;
}

/** Whether a name can be a path segment: browsers resolve `.` and `..`. */
export function hasPath(name: string): boolean {
  return name !== "." && name !== "..";
}

export const LoggingState: FC<{ logging: FunctionView["logging"] }> = ({ logging }) =>
  logging === "off" ? (
    <State kind="warn">off</State>
  ) : logging === "on" ? (
    <State kind="ok">on</State>
  ) : (
    <State kind="info">on by default</State>
  );

/**
 * A switch with `functions:edit`, else words. `unset` ships, so the switch is on.
 * @param back query of the list to return to; absent: the function's page.
 */
export const LoggingSwitch: FC<{ of: Pick<FunctionView, "id" | "logging">; viewer: Viewer; back?: string }> = ({
  of: { id, logging },
  viewer,
  back,
}) => {
  if (!may(viewer, "functions:edit") || !hasPath(id)) return <LoggingState logging={logging} />;
  const isOn = logging !== "off";
  return (
    <Form viewer={viewer} action={`${functionPath(id)}/logging`} class="action">
      <input type="hidden" name="logging" value={isOn ? "off" : "on"} />
      {back !== undefined && <input type="hidden" name="back" value={back} />}
      <button
        type="submit"
        role="switch"
        aria-checked={isOn ? "true" : "false"}
        aria-label={`Logging of ${visible(id)}`}
        class="small switch"
      >
        <span aria-hidden="true">{logging === "unset" ? "on by default" : logging}</span>
      </button>
    </Form>
  );
};
