// The conditions of /live: fields, the builder of the server, and the address that says them.
// @ts-check
import { combined } from "../parts/record-filter.ts";

/**
 * @typedef {{
 *   form: HTMLFormElement, query: HTMLInputElement, script: HTMLInputElement,
 *   outcome: HTMLSelectElement, what: HTMLDetailsElement, faults: HTMLElement,
 * }} Fields
 */

/** After typing, until filter and query change, in ms. */
const TYPED_MS = 250;
/** …and until faults are shown: half of a query often is none. */
const FAULTY_MS = 750;

const NO_ANSWER = "The service does not answer.";

/** The filter of the builder on a page. */
function builtOn(/** @type {Document} */ page) {
  const was = page.querySelector("input[name=filter-was]")?.getAttribute("value");
  return String(JSON.parse(was ?? '""'));
}

export class Filter {
  /** @type {Fields} */
  #ui;
  /** @type {() => void} */
  #apply;
  /** Of the builder, which the server makes. */
  #built = builtOn(document);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #telling;

  /** @param {() => void} apply the conditions are other ones. */
  constructor(/** @type {Fields} */ ui, apply) {
    [this.#ui, this.#apply] = [ui, apply];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let typing;
    for (const field of [ui.query, ui.script]) {
      field.addEventListener("input", () => {
        clearTimeout(typing);
        typing = setTimeout(apply, TYPED_MS);
      });
    }
    ui.outcome.addEventListener("change", apply);
    ui.faults.addEventListener("click", (event) => {
      if (!(event.target instanceof HTMLAnchorElement)) return;
      event.preventDefault();
      ui.query.value = new URL(event.target.href).searchParams.get("q") ?? "";
      ui.query.focus();
      apply();
    });
    ui.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(event.submitter);
    });
  }

  /** What the link to the server takes. */
  get wanted() {
    const { script, query, outcome } = this.#ui;
    return { filter: combined(this.#built, script.value.trim(), outcome.value), query: query.value.trim() };
  }

  /** The query of the page with these conditions. */
  get query() {
    const { query, script, outcome } = this.#ui;
    const [q, name] = [query.value.trim(), script.value.trim()];
    const said = Object.entries({ q, function: name, outcome: outcome.value, filter: this.#built });
    const all = new URLSearchParams(said.filter(([, value]) => value !== ""));
    return all.size === 0 ? "" : `?${all}`;
  }

  /** Takes the conditions of an address of the page. */
  take(/** @type {URLSearchParams} */ said) {
    const { query, script, outcome } = this.#ui;
    [query.value, script.value] = [said.get("q") ?? "", said.get("function") ?? ""];
    [outcome.value, this.#built] = [said.get("outcome") ?? "", said.get("filter") ?? ""];
    this.#apply();
    this.#showBuilder().catch(() => this.#tell(NO_ANSWER));
  }

  /** @param {string[]} faults as the socket tells them; a page of the server has their place. */
  show(faults) {
    clearTimeout(this.#telling);
    if (faults.length === 0) return this.#tell();
    this.#telling = setTimeout(async () => {
      const asked = this.query;
      const page = await this.#page().catch(() => null);
      if (asked !== this.query) return;
      const places = page?.faults ?? [];
      this.#tell(...(places.length > 0 ? places : [faults.join("; ").slice(0, 500)]));
      if (places.length === 0) this.#ui.what.open = true;
    }, FAULTY_MS);
  }

  #tell(/** @type {(Node | string)[]} */ ...faults) {
    this.#ui.faults.replaceChildren(...faults);
  }

  /** The server changes the builder; other buttons apply what it shows. */
  async #submit(/** @type {HTMLElement | null} */ submitter) {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(this.#ui.form, submitter)));
    try {
      if (await this.#showBuilder({ method: "POST", body })) this.#apply();
      /** @type {HTMLSelectElement} */ (document.getElementById("live-job")).value = "";
    } catch {
      this.#tell(NO_ANSWER);
    }
  }

  /** Shows the builder of a page of the server. @returns whether it is of other conditions. */
  async #showBuilder(/** @type {RequestInit} */ init = {}) {
    const { page, faults, isRedirected } = await this.#page(init);
    const fresh = page.getElementById("live-builder");
    clearTimeout(this.#telling);
    if (fresh === null) return this.#tell(page.querySelector("h1")?.textContent ?? NO_ANSWER);
    this.#tell(...faults);
    this.#built = builtOn(page);
    const { what } = this.#ui;
    const isFocused = what.contains(document.activeElement);
    document.getElementById("live-builder")?.replaceWith(fresh);
    if (isFocused) {
      /** @type {NodeListOf<HTMLElement>} */
      const fields = fresh.querySelectorAll("input[name^=key-]");
      (fields[fields.length - 1] ?? what.querySelector("summary"))?.focus();
    }
    return isRedirected;
  }

  /** This page, as the server makes it. */
  async #page(/** @type {RequestInit} */ init = {}) {
    const headers = { accept: "text/html", "x-logship-refresh": "1" };
    const answer = await fetch(`/live${init.method === "POST" ? "" : this.query}`, { ...init, headers });
    // Signed out meanwhile.
    if (new URL(answer.url).pathname !== "/live") location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const faults = [...(page.getElementById("live-faults")?.children ?? [])];
    return { page, faults, isRedirected: answer.redirected };
  }
}
