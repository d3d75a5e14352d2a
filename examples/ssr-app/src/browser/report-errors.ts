/** Reports from one page, at most. */
const REPORTS_MAX = 10;
/** Longest text that the server accepts. */
const TEXT_MAX = 1_000;

/**
 * Sends uncaught errors of this page to the shop, which makes records of them: no trace event
 * covers a visitor's browser.
 */
export function reportErrors(page: Window): void {
  let left = REPORTS_MAX;
  let last: unknown;
  const report = (thrown: unknown) => {
    // One error may come as a rejected promise, and again from the component that waited for it.
    if (thrown === last || left-- <= 0) return;
    last = thrown;
    const { name, message } = thrown instanceof Error ? thrown : { name: "Error", message: String(thrown) };
    const body = { name: cut(name), message: cut(message), page: cut(page.location.pathname) };
    // `keepalive`: it is sent even if the visitor leaves the page. A failure to send would come
    // back here.
    fetch("/browser-errors", { method: "POST", body: JSON.stringify(body), keepalive: true }).catch(() => {});
  };
  page.addEventListener("error", (event) => report(event.error ?? event.message));
  page.addEventListener("unhandledrejection", (event) => report(event.reason));
}

function cut(text: string): string {
  return text.slice(0, TEXT_MAX);
}
