/** What a browser holds in an untouched form, and what it sends. */

const TAGS =
  /<(input|select|option|textarea)((?:\s+[\w-]+(?:="[^"]*")?)*)\s*\/?>(?:([^<]*)<\/(?:textarea|option)>)?|<\/select>/g;

function decoded(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

function attributes(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/([\w-]+)(?:="([^"]*)")?/g)].map(([, name = "", value = ""]) => [name, decoded(value)]),
  );
}

/** As received: UTF-8, through an HTML parser. */
const received = (html: string) => html.toWellFormed().replaceAll("\u0000", "\ufffd").replace(/\r\n?/g, "\n");

/**
 * The entries of an untouched form. @param html of the controls, or of a page in which `action`
 * names the form.
 */
export function untouched(html: string, action?: string): URLSearchParams {
  const page = received(html);
  const start = action === undefined ? 0 : page.indexOf(`action="${action}"`);
  if (start === -1) throw new Error(`no form for ${action}`);
  const end = action === undefined ? -1 : page.indexOf("</form>", start);
  const form = new URLSearchParams();
  // A browser sends line breaks as CR LF.
  const send = (name: string, value: string) => form.append(name, value.replace(/\n/g, "\r\n"));
  let select: { name: string; value: string | null } | null = null;
  for (const [, tag, rest = "", content = ""] of page.slice(start, end === -1 ? undefined : end).matchAll(TAGS)) {
    const with_ = attributes(rest);
    const name = with_.get("name") ?? "";
    const value = with_.get("value") ?? "";
    if (tag === "input" && name !== "") {
      const isBox = ["checkbox", "radio"].includes(with_.get("type") ?? "");
      if (!isBox) send(name, with_.get("type") === "hidden" ? value : value.replaceAll("\n", ""));
      else if (with_.has("checked")) send(name, value);
    } else if (tag === "textarea") send(name, decoded(content).replace(/^\n/, ""));
    else if (tag === "select") select = { name, value: null };
    else if (tag === "option" && select !== null) {
      if (select.value === null || with_.has("selected")) select.value = value;
    } else if (tag === undefined && select !== null) {
      send(select.name, select.value ?? "");
      select = null;
    }
  }
  return form;
}
