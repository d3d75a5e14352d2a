// The conditions of /live: fields, the builder of the server, and the address that says them.
// @ts-check
import { combined, narrowed } from "../parts/record-filter.ts";

/** @typedef {Parameters<typeof narrowed>[1]} Condition */
/**
 * @typedef {{
 *   form: HTMLFormElement, text: HTMLInputElement, script: HTMLInputElement,
 *   errors: HTMLInputElement, what: HTMLDetailsElement, faults: HTMLElement,
 * }} Fields
 */

/** After typing, until the filter changes, in ms. */
const TYPED_MS = 250;

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

  /** @param {() => void} apply the conditions are other ones. */
  constructor(/** @type {Fields} */ ui, apply) {
    [this.#ui, this.#apply] = [ui, apply];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let typing;
    for (const field of [ui.text, ui.script]) {
      field.addEventListener("input", () => {
        clearTimeout(typing);
        typing = setTimeout(apply, TYPED_MS);
      });
    }
    ui.errors.addEventListener("change", apply);
    ui.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(event.submitter);
    });
  }

  /** What the link to the server takes. */
  get wanted() {
    const { script, text, errors } = this.#ui;
    return { filter: combined(this.#built, script.value.trim(), errors.checked), text: text.value.trim() };
  }

  /** The query of the page with these conditions. */
  get query() {
    const { text, script, errors } = this.#ui;
    const said = {
      text: text.value.trim(),
      script: script.value.trim(),
      errors: errors.checked ? "1" : "",
      filter: this.#built,
    };
    const query = new URLSearchParams(Object.entries(said).filter(([, value]) => value !== ""));
    return query.size === 0 ? "" : `?${query}`;
  }

  /** Adds a condition. */
  narrow(/** @type {Condition} */ condition, /** @type {boolean} */ isAgainst) {
    this.#built = narrowed(this.#built, condition, isAgainst);
    this.#apply();
    this.#showBuilder().catch(() => this.show(["The service does not answer."]));
  }

  show(/** @type {string[]} */ faults) {
    this.#ui.faults.textContent = faults.map((fault) => fault.slice(0, 500)).join("; ");
    if (faults.length > 0) this.#ui.what.open = true;
  }

  /** The server changes the builder; other buttons apply what it shows. */
  async #submit(/** @type {HTMLElement | null} */ submitter) {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(this.#ui.form, submitter)));
    try {
      if (await this.#showBuilder({ method: "POST", body })) this.#apply();
      /** @type {HTMLSelectElement} */ (document.getElementById("live-job")).value = "";
    } catch {
      this.show(["The service does not answer."]);
    }
  }

  /** Shows the builder of a page of the server. @returns whether it is of other conditions. */
  async #showBuilder(/** @type {RequestInit} */ init = {}) {
    const headers = { accept: "text/html", "x-logship-refresh": "1" };
    const answer = await fetch(`/live${init.method === "POST" ? "" : this.query}`, { ...init, headers });
    // Signed out meanwhile.
    if (new URL(answer.url).pathname !== "/live") return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live-builder");
    if (fresh === null) return this.show([page.querySelector("h1")?.textContent ?? "The service does not answer."]);
    this.#built = builtOn(page);
    const { what } = this.#ui;
    const isFocused = what.contains(document.activeElement);
    document.getElementById("live-builder")?.replaceWith(fresh);
    if (isFocused) {
      /** @type {NodeListOf<HTMLElement>} */
      const fields = fresh.querySelectorAll("input[name^=key-]");
      (fields[fields.length - 1] ?? what.querySelector("summary"))?.focus();
    }
    return answer.redirected;
  }
}
