import type { Child, FC, JSX, PropsWithChildren } from "hono/jsx";
import type { Permission } from "../../../state/access/roles.ts";
import type { Viewer } from "../session.ts";
import { visible } from "./foreign.tsx";

/** The form field of the CSRF token. */
export const CSRF_FIELD = "csrf";

/** The name of the buttons of a form that has several. */
export const DO_FIELD = "do";

/** A form with the CSRF token of the viewer's session. */
export const Form: FC<
  PropsWithChildren<{ viewer: Viewer; action: string; label?: string; class?: string; go?: string | undefined }>
> = ({ viewer, action, label, go, children, ...more }) => (
  <form method="post" action={action} aria-label={label} class={more.class} data-go={go}>
    <input type="hidden" name={CSRF_FIELD} value={viewer.csrf} />
    {children}
  </form>
);

/** A button that sends its form, unless it is of another type. */
export const Button: FC<JSX.IntrinsicElements["button"] & { label: Child }> = ({ label, type = "submit", ...more }) => (
  <button type={type} {...more}>
    {label}
  </button>
);

/** The end of a form: its button, the way back, and what else there is to do. */
export const Submit: FC<PropsWithChildren<{ label: string; back?: string; kind?: "primary" | "danger" }>> = ({
  label,
  back,
  kind = "primary",
  children,
}) => (
  <div class="actions">
    <Button class={kind} label={label} />
    {back !== undefined && <a href={back}>Cancel</a>}
    {children}
  </div>
);

export interface FieldProps {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: Child;
  error?: string | undefined;
  type?: "text" | "password" | "number" | "email" | "url" | "search" | "date";
  required?: boolean;
  autocomplete?: string;
  spellcheck?: boolean;
  placeholder?: string;
  min?: number;
  max?: number;
  step?: string;
  maxlength?: number;
  /** Makes it a textarea. */
  rows?: number;
}

function describedBy(id: string, hint: Child, error: string | undefined): string | undefined {
  const ids = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return ids.length === 0 ? undefined : ids.join(" ");
}

/** A control with its label, hint and error. @param id of the control. */
const Labelled: FC<PropsWithChildren<{ id: string; label: string; hint: Child; error: string | undefined }>> = ({
  id,
  label,
  hint,
  error,
  children,
}) => (
  <div class="field">
    <label for={id}>{label}</label>
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {children}
    {error !== undefined && (
      <p class="error" id={`${id}-error`}>
        {visible(error)}
      </p>
    )}
  </div>
);

export const Field: FC<FieldProps> = ({ name, label, hint, error, rows, value, type = "text", ...more }) => {
  const id = `field-${name}`;
  const shared = {
    id,
    name,
    "aria-describedby": describedBy(id, hint, error),
    "aria-invalid": error === undefined ? undefined : ("true" as const),
    ...more,
  };
  return (
    <Labelled id={id} label={label} hint={hint} error={error}>
      {rows === undefined ? (
        <input type={type} value={value} {...shared} />
      ) : (
        <textarea rows={rows} {...shared}>
          {/* The HTML parser drops the first line break of a textarea. */}
          {`\n${value ?? ""}`}
        </textarea>
      )}
    </Labelled>
  );
};

export interface Option {
  value: string;
  label: string;
  disabled?: boolean;
}

export const Select: FC<{
  name: string;
  label: string;
  options: readonly Option[];
  value?: string | undefined;
  hint?: Child;
  error?: string | undefined;
}> = ({ name, label, options, value, hint, error }) => {
  const id = `field-${name}`;
  return (
    <Labelled id={id} label={label} hint={hint} error={error}>
      <select id={id} name={name} aria-describedby={describedBy(id, hint, error)}>
        {options.map((option) => (
          <option value={option.value} selected={option.value === value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
    </Labelled>
  );
};

interface BoxProps {
  name: string;
  label: Child;
  value?: string;
  checked?: boolean;
  hint?: Child;
  id?: string;
  disabled?: boolean;
}

export const Check: FC<BoxProps> = ({ value = "true", id, ...box }) => (
  <Box type="checkbox" value={value} id={id ?? `field-${box.name}`} {...box} />
);

/** One of several of the same name. */
export const Radio: FC<BoxProps & { value: string }> = ({ id, ...box }) => (
  <Box type="radio" id={id ?? `field-${box.name}-${box.value}`} {...box} />
);

const Box: FC<BoxProps & { type: "checkbox" | "radio"; id: string }> = ({
  type,
  id,
  name,
  value,
  checked,
  disabled,
  label,
  hint,
}) => (
  <div class="check">
    <input
      type={type}
      id={id}
      name={name}
      value={value}
      checked={checked}
      disabled={disabled}
      aria-describedby={hint === undefined ? undefined : `${id}-hint`}
    />
    <label for={id}>{label}</label>
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
  </div>
);

export function may(viewer: Viewer, permission: Permission): boolean {
  return viewer.caller.permissions.has(permission);
}

/**
 * A button in a form of its own. A viewer without the permission sees it disabled, with the reason.
 * @param needs by default `logs:edit`.
 * @param fields further values to send.
 */
export const Action: FC<{
  viewer: Viewer;
  action: string;
  label: string;
  needs?: Permission;
  kind?: "primary" | "danger" | "small";
  /** Tells several such buttons apart, for screen readers. */
  about?: string;
  fields?: Readonly<Record<string, string>>;
}> = ({ viewer, action, label, needs = "logs:edit", kind, about, fields = {} }) =>
  may(viewer, needs) ? (
    <Form viewer={viewer} action={action} class="action">
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={kind}>
        {label}
        {about !== undefined && <span class="unseen"> {about}</span>}
      </button>
    </Form>
  ) : (
    <button type="button" class={kind} disabled title={`needs the permission ${needs}`}>
      {label}
      <span class="unseen">
        {about !== undefined && ` ${about}`} (needs the permission {needs})
      </span>
    </button>
  );
