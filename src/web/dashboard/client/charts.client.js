// The values of a chart's bars, by pointer and by arrow keys.
// @ts-check

export function readable(/** @type {ParentNode} */ root) {
  for (const chart of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("figure.chart:has(svg)"))) {
    const drawing = chart.querySelector("svg");
    const bars = [...(drawing?.children ?? [])];
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
    const show = (/** @type {number} */ to) => {
      bars[at]?.classList.remove("at");
      at = to;
      bars[at]?.classList.add("at");
      drawing?.classList.toggle("read", at !== -1);
      said.textContent = words[at] ?? "";
      if (most instanceof HTMLElement && most.matches(".axis")) most.hidden = at !== -1;
    };
    drawing?.addEventListener("pointermove", ({ clientX }) => {
      const { left, width } = drawing.getBoundingClientRect();
      show(Math.min(bars.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * bars.length))));
    });
    drawing?.addEventListener("pointerleave", () => show(-1));
    chart.tabIndex = 0;
    chart.addEventListener("blur", () => show(-1));
    chart.addEventListener("keydown", (event) => {
      if (event.target !== chart) return;
      const link = bars[at]?.getAttribute("href");
      if (event.key === "ArrowRight") show(Math.min(bars.length - 1, at + 1));
      else if (event.key === "ArrowLeft") show(at === -1 ? bars.length - 1 : Math.max(0, at - 1));
      else if (event.key === "Enter" && link) location.assign(link);
      else return;
      event.preventDefault();
    });
  }
}
