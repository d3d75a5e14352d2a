import type { ErrorEntry } from "../../../base/errors.ts";
import type { View } from "../page.ts";
import { Errors } from "../parts/failure.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { Empty, Notice } from "../parts/panel.tsx";

/** Messages of the API begin with a small letter. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function notFound(errors: readonly ErrorEntry[] = []): View {
  return {
    title: "Not found",
    status: 404,
    parts: [
      <Empty title={sentence(errors[0]?.message ?? "page not found")}>
        <p>
          It may have been deleted, or the address is incomplete. <a href="/">Go to the overview</a>
        </p>
      </Empty>,
    ],
  };
}

export function notPermitted(errors: readonly ErrorEntry[]): View {
  return {
    title: "Not permitted",
    status: 403,
    parts: [
      <Errors title="You cannot do this" errors={errors} />,
      <p>
        Your token or role lacks a permission. Ask someone with <code>access:edit</code>; a change applies from your
        next click. <a href="/">Go to the overview</a>
      </p>,
    ],
  };
}

/** An error of the API as a page. */
export function failureView({ status, errors }: { status: number; errors: readonly ErrorEntry[] }): View {
  const later = status >= 500 ? "Temporary error" : "Request rejected";
  return {
    title: later,
    status,
    parts: [
      <Errors title={later} errors={errors} />,
      <p>Go back to change your input, or reload the page to try again.</p>,
    ],
  };
}

/** A part of the service does not answer. */
export function silent(): View {
  return {
    title: "Page unavailable",
    status: 503,
    parts: [
      <Notice kind="bad" title="A part of the service does not answer">
        <p>Delivery continues. Reload the page in a few seconds.</p>
      </Notice>,
    ],
  };
}

/** Settings are malformed. */
export function notConfigured(faults: readonly string[]): View {
  return {
    title: "Configuration incomplete",
    status: 503,
    parts: [
      <Notice kind="bad" title="Settings are missing or malformed">
        <ul>
          {faults.map((fault) => (
            <Foreign as="li" text={fault} />
          ))}
        </ul>
      </Notice>,
      <p>Events are still accepted; nothing is lost. Correct the settings, deploy, and reload this page.</p>,
    ],
  };
}

/** A form without the token of this session, or from another origin. */
export const FOREIGN_FORM: View = {
  title: "Nothing changed",
  status: 403,
  parts: [
    <Notice kind="bad" title="This form is not from your session">
      <p>
        You may have signed in again since it was loaded. Reload its page and fill it in again.{" "}
        <a href="/">Go to the overview</a>
      </p>
    </Notice>,
  ],
};

/** The session ended while a form was open. */
export const SESSION_OVER: View = {
  title: "You are signed out",
  status: 401,
  parts: [
    <Notice kind="warn" title="Nothing changed: your session ended">
      <p>
        <a href="/sign-in">Sign in</a>, then go back and send the form again.
      </p>
    </Notice>,
  ],
};
