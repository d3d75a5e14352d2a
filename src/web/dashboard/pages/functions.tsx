import { InnerFailure } from "../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther } from "../page.ts";
import { pageOf } from "../parts/pager.tsx";
import { asking, type Question } from "../parts/question.tsx";
import { attachView } from "./functions/attach.tsx";
import { listQuery, listView } from "./functions/list.tsx";
import { functionPath, hasPath, scriptPath } from "./functions/logging.tsx";
import { functionView } from "./functions/one.tsx";
import { expect } from "./functions/rhythm.tsx";

const AGAIN = ["function", "logging", "back"];

export const functionPages: readonly Page[] = [
  {
    path: "/functions",
    get: { permission: "functions:read", show: (page) => listView(page) },
    post: { permission: "functions:edit", take: asking(AGAIN, losesEvents, decide) },
  },
  { path: "/attach", get: { permission: null, show: attachView } },
  { path: "/functions/:name", get: { permission: "functions:read", show: functionView } },
  {
    path: "/functions/:name/logging",
    post: { permission: "functions:edit", take: asking(AGAIN, losesEvents, switchLogging) },
  },
  { path: "/functions/:name/expect", post: { permission: "logs:edit", take: expect } },
  { path: "/functions/:name/forget", post: { permission: "functions:edit", take: asking([], losesCounts, forget) } },
];

/** A function that is not there has no events to lose. */
async function losesEvents({ api, params }: PageContext, form: URLSearchParams): Promise<Question | null> {
  const name = params.name ?? (form.get("function") ?? "").trim();
  if (form.get("logging") !== "off" || name === "") return null;
  const { status } = await api.send("GET", scriptPath(name));
  if (status === 400 || status === 404) return null;
  const text =
    "logship then counts and drops events of this Worker: no job ships them, now or later. Events accepted before still ship.";
  return question(name, "Switch logging off", text);
}

async function losesCounts({ params }: PageContext): Promise<Question> {
  const text =
    "Deletes its settings, counts and local code. New events ship, even if logging is off now, and bring it back. Shipped records stay.";
  return question(params.name ?? "", "Forget the Worker", text);
}

function question(name: string, label: string, text: string): Question {
  return { title: `${label}: ${name}`, label, back: functionPath(name), parts: [<p>{text}</p>] };
}

/** The value of `logship` for each setting. */
const LOGSHIP: { readonly [logging: string]: boolean | null } = { on: true, off: false, unset: null };

async function switchLogging(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const name = page.params.name ?? "";
  const logging = form.get("logging") ?? "";
  const answer = await set(page, name, logging);
  if (answer !== null) throw answer;
  const back = form.get("back");
  if (back === null) return seeOther(await pathAfter(page, name));
  const query = new URLSearchParams(back);
  return seeOther(`/functions${listQuery(query.get("name") ?? "", pageOf(query))}`);
}

/** A function without events and settings no longer exists. */
async function pathAfter({ api }: PageContext, name: string): Promise<string> {
  const answer = await api.send("GET", scriptPath(name));
  return answer.status === 404 ? "/functions" : functionPath(name);
}

/** Sets logging of a function named in the form. */
async function decide(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const name = (form.get("function") ?? "").trim();
  const logging = form.get("logging") ?? "";
  if (name === "") return listView(page, { name, logging, fault: "Enter the name of the Worker." });
  if (!hasPath(name)) return listView(page, { name, logging, fault: "This is not a valid name." });
  const refused = await set(page, name, logging);
  if (refused === null) return seeOther(functionPath(name));
  if (refused.status >= 500) throw refused;
  return listView(page, { name, logging, fault: refused.message });
}

/** null: done. */
async function set({ api }: PageContext, name: string, logging: string): Promise<InnerFailure | null> {
  const logship = Object.hasOwn(LOGSHIP, logging) ? LOGSHIP[logging] : undefined;
  if (logship === undefined)
    return new InnerFailure(400, [{ code: 1001, message: "logging must be on, off or unset" }]);
  const path = `${scriptPath(name)}/script-settings`;
  const answer = await api.send("PATCH", path, { logship });
  return answer.ok ? null : new InnerFailure(answer.status, answer.errors);
}

async function forget({ api, params }: PageContext): Promise<PageAnswer> {
  await api.change("DELETE", scriptPath(params.name ?? ""));
  return seeOther("/functions");
}
