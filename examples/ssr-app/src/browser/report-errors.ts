/** A page that fails again and again says so this often. */
const REPORTS_MAX = 10;
/** The server takes no longer texts. */
const TEXT_MAX = 1_000;

/** Sends what nobody catches on this page to the shop, which makes a record of it: no trace event tells of a visitor's browser. */
export function reportErrors(page: Window): void {
  let left = REPORTS_MAX;
  let last: unknown;
  const report = (thrown: unknown) => {
    // One error may come as a rejected promise, and again as what a component threw that waited for it.
    if (thrown === last || left-- <= 0) return;
    last = thrown;
    const { name, message } = thrown instanceof Error ? thrown : { name: "Error", message: String(thrown) };
    const body = { name: cut(name), message: cut(message), page: cut(page.location.pathname) };
    // `keepalive`: it is sent even if the visitor leaves the page. That it could not be sent would end up here again.
    fetch("/browser-errors", { method: "POST", body: JSON.stringify(body), keepalive: true }).catch(() => {});
  };
  page.addEventListener("error", (event) => report(event.error ?? event.message));
  page.addEventListener("unhandledrejection", (event) => report(event.reason));
}

function cut(text: string): string {
  return text.slice(0, TEXT_MAX);
}
