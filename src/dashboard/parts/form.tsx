import type { Child, FC, PropsWithChildren } from "hono/jsx";
import type { Permission } from "../../access/roles.ts";
import type { Viewer } from "../session.ts";
import { visible } from "./foreign.tsx";

/** The name under which forms carry what proves that they are ours. */
export const CSRF_FIELD = "csrf";

/** A form that this viewer's session is known by. */
export const Form: FC<PropsWithChildren<{ viewer: Viewer; action: string; label?: string; class?: string }>> = ({
  viewer,
  action,
  label,
  children,
  ...more
}) => (
  <form method="post" action={action} aria-label={label} class={more.class}>
    <input type="hidden" name={CSRF_FIELD} value={viewer.csrf} />
    {children}
  </form>
);

export interface FieldProps {
  name: string;
  label: string;
  value?: string | undefined;
  /** What to know of it, below the label. */
  hint?: Child;
  /** What is wrong with what was sent. */
  error?: string | undefined;
  type?: "text" | "password" | "number" | "email" | "url" | "search" | "date";
  required?: boolean;
  autocomplete?: string;
  /** Of a password that must not be offered again, and texts that no spelling checker is to see. */
  spellcheck?: boolean;
  placeholder?: string;
  min?: number;
  max?: number;
  step?: string;
  maxlength?: number;
  /** Of a text over several lines. */
  rows?: number;
}

/** Ids of what is said of a control beside its label; undefined: nothing is. */
function describedBy(id: string, hint: Child, error: string | undefined): string | undefined {
  const ids = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return ids.length === 0 ? undefined : ids.join(" ");
}

/** A control between its label with the hint and its fault. @param id the control's. */
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

/** A field with its label, hint and fault, tied together for who cannot see that they stand together. */
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
          {/* The first line break of a text area is the parser's. */}
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

/** One of several, by name. */
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

/** A box to tick. */
export const Check: FC<{
  name: string;
  label: Child;
  value?: string;
  checked?: boolean;
  hint?: Child;
  id?: string;
  disabled?: boolean;
}> = ({ name, label, value = "true", checked, hint, id = `field-${name}`, disabled }) => (
  <div class="check">
    <input
      type="checkbox"
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

/** Whether this viewer may do what needs a permission. */
export function may(viewer: Viewer, permission: Permission): boolean {
  return viewer.caller.permissions.has(permission);
}

/**
 * One thing to do, as a button in a form of its own. Whoever may not do it sees that it is there, and what it takes.
 * @param fields further values that it sends.
 */
export const Action: FC<{
  viewer: Viewer;
  action: string;
  label: string;
  needs: Permission;
  kind?: "primary" | "danger" | "small";
  /** Where the button's text alone would not tell which of several it is about. */
  about?: string;
  fields?: Readonly<Record<string, string>>;
}> = ({ viewer, action, label, needs, kind, about, fields = {} }) =>
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
