import type { ErrorEntry } from "../../errors.ts";
import type { View } from "../page.ts";
import { Errors } from "../parts/failure.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { Empty, Notice } from "../parts/panel.tsx";

/** What the API says begins in small letters: it stands behind other words there. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Nothing is at this address, or not any more. */
export function notFound(errors: readonly ErrorEntry[] = []): View {
  return {
    title: "Not found",
    status: 404,
    section: null,
    parts: [
      <Empty title={sentence(errors[0]?.message ?? "there is nothing at this address")}>
        <p>
          It may have been deleted, or the address is not whole. <a href="/">Go to the overview</a>
        </p>
      </Empty>,
    ],
  };
}

/** Whoever is signed in may not do this. */
export function notPermitted(errors: readonly ErrorEntry[]): View {
  return {
    title: "Not permitted",
    status: 403,
    section: null,
    parts: [
      <Errors title="This is not open to you" errors={errors} />,
      <p>
        Permissions come with a token, or with a member's role; somebody with <code>access:edit</code> can give you
        another one, and it counts from your next click. <a href="/">Go to the overview</a>
      </p>,
    ],
  };
}

/** What was asked for was refused, or could not be done. */
export function failureView({ status, errors }: { status: number; errors: readonly ErrorEntry[] }): View {
  const later = status >= 500 ? "It did not work just now" : "This was refused";
  return {
    title: later,
    status,
    section: null,
    parts: [
      <Errors title={later} errors={errors} />,
      <p>Go back with your browser to change what was sent, or reload the page to try it again.</p>,
    ],
  };
}

/** Something that the pages need does not answer. */
export function silent(): View {
  return {
    title: "This page cannot be shown",
    status: 503,
    section: null,
    parts: [
      <Notice kind="bad" title="A part of the service does not answer at the moment">
        <p>What is delivered does not depend on it. Reload the page in a few seconds.</p>
      </Notice>,
    ],
  };
}

/** Settings are malformed: as the API says of each. */
export function notConfigured(faults: readonly string[]): View {
  return {
    title: "The configuration is not complete",
    status: 503,
    section: null,
    parts: [
      <Notice kind="bad" title="Settings of this deployment are missing or malformed">
        <ul>
          {faults.map((fault) => (
            <li>
              <Foreign text={fault} />
            </li>
          ))}
        </ul>
      </Notice>,
      <p>Events are taken meanwhile, and nothing is lost. Mend the settings, deploy, and reload this page.</p>,
    ],
  };
}

/** A form that no page of this session has sent, as far as anybody can tell. */
export const FOREIGN_FORM: View = {
  title: "Nothing was changed",
  status: 403,
  section: null,
  parts: [
    <Notice kind="bad" title="This form was not sent by a page of your session">
      <p>
        You may have signed in anew since it was loaded. Load its page again and fill it in there.{" "}
        <a href="/">Go to the overview</a>
      </p>
    </Notice>,
  ],
};

/** The session ended while a form was open. */
export const SESSION_OVER: View = {
  title: "You are signed out",
  status: 401,
  section: null,
  parts: [
    <Notice kind="warn" title="Nothing was changed: the session is over">
      <p>
        <a href="/sign-in">Sign in</a>, then go back with your browser and send the form again.
      </p>
    </Notice>,
  ],
};
