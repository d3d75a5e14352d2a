// The values of a chart's bars, by pointer and by arrow keys; and the time of several.
// @ts-check

/** As `range` of `Bars` has it. @returns {[from: string, to: string]} the time of some bars. */
function timeOf(/** @type {HTMLElement} */ chart, /** @type {number} */ from, /** @type {number} */ to) {
  const [since = 0, first = 0, step = 0, until = 0] = (chart.dataset.times ?? "").split(" ").map(Number);
  const text = (/** @type {number} */ ms) => `${new Date(ms).toISOString().slice(0, 23).replace("T", " ")} UTC`;
  return [text(Math.max(since, first + from * step)), text(Math.min(until, first + (to + 1) * step))];
}

function goTo(/** @type {HTMLElement} */ chart, /** @type {number} */ from, /** @type {number} */ to) {
  const [since, until] = timeOf(chart, from, to);
  const place = new URL(chart.dataset.range ?? "", location.href);
  for (const [name, value] of Object.entries({ last: "own", since, until })) place.searchParams.set(name, value);
  location.assign(place);
}

export function readable(/** @type {ParentNode} */ root) {
  for (const chart of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("figure.chart:has(svg)"))) {
    const drawing = chart.querySelector("svg");
    const bars = [...(drawing?.querySelectorAll(":scope > :not(.tone-mark)") ?? [])];
    // The title of a bar would show a second time, and late.
    const words = bars.map((bar) => {
      const title = bar.querySelector("title");
      title?.remove();
      return title?.textContent ?? "";
    });
    const said = document.createElement("p");
    said.className = "said axis";
    said.setAttribute("aria-live", "polite");
    drawing?.before(said);
    const most = said.previousElementSibling;
    let at = -1;
    /** Where a choice of bars began; -1: there is none. */
    let from = -1;
    const show = (/** @type {number} */ to) => {
      bars[at]?.classList.remove("at");
      at = to;
      bars[at]?.classList.add("at");
      drawing?.classList.toggle("read", at !== -1);
      said.textContent = words[at] ?? "";
      if (most instanceof HTMLElement && most.matches(".axis")) most.hidden = at !== -1;
      const [low, high] = [Math.min(from, at), Math.max(from, at)];
      chart.classList.toggle("choosing", from !== -1);
      bars.forEach((bar, i) => {
        bar.classList.toggle("chosen", from !== -1 && low <= i && i <= high);
      });
      if (from === -1) return;
      const [since, until] = timeOf(chart, low, high);
      said.textContent = `${since.slice(0, 19)} to ${until.slice(0, 19)} UTC. Enter shows these records.`;
    };
    /** @returns {number} */
    const barAt = (/** @type {MouseEvent} */ { clientX }) => {
      const { left = 0, width = 1 } = drawing?.getBoundingClientRect() ?? {};
      return Math.min(bars.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * bars.length)));
    };
    const hasRange = chart.dataset.range !== undefined;
    let downAt = -1;
    const end = (/** @type {boolean} */ isChosen) => {
      const [low, high] = [Math.min(from, at), Math.max(from, at)];
      if (isChosen && from !== -1) goTo(chart, low, high);
      [downAt, from] = [-1, -1];
      show(at);
    };
    drawing?.addEventListener("pointermove", (event) => {
      const to = barAt(event);
      if (downAt !== -1 && from === -1 && to !== downAt) {
        from = downAt;
        drawing.setPointerCapture(event.pointerId);
      }
      show(to);
    });
    drawing?.addEventListener("pointerleave", () => downAt === -1 && show(-1));
    if (hasRange) {
      drawing?.addEventListener("pointerdown", (event) => {
        if (event.button === 0) downAt = barAt(event);
      });
      drawing?.addEventListener("pointerup", () => end(true));
      drawing?.addEventListener("pointercancel", () => end(false));
      // A bar is a link, which would be dragged elsewhere.
      drawing?.addEventListener("dragstart", (event) => event.preventDefault());
    }
    chart.tabIndex = 0;
    chart.addEventListener("blur", () => {
      at = -1;
      end(false);
    });
    chart.addEventListener("keydown", (event) => {
      if (event.target !== chart) return;
      const link = bars[at]?.getAttribute("href");
      const isArrow = event.key === "ArrowRight" || event.key === "ArrowLeft";
      // Shift takes in more; without it, a choice is over.
      if (isArrow) from = event.shiftKey && hasRange ? (from === -1 ? at : from) : -1;
      if (event.key === "ArrowRight") show(Math.min(bars.length - 1, at + 1));
      else if (event.key === "ArrowLeft") show(at === -1 ? bars.length - 1 : Math.max(0, at - 1));
      else if (event.key === "Enter" && from !== -1) end(true);
      else if (event.key === "Escape" && from !== -1) end(false);
      else if (event.key === "Enter" && link) location.assign(link);
      else return;
      event.preventDefault();
    });
  }
}
