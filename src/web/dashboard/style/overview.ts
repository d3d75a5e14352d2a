/** The overview, functions and costs: sparklines, sums, steps, switches. */
export const OVERVIEW = `
.spark{display:flex;flex-wrap:wrap;gap:0 .6rem;align-items:center}
.sparkline{display:block;max-width:100%}
.sparkline .bar{fill:var(--bar)}
.sparkline .floor{fill:var(--line)}
.verdict{font-size:var(--large)}
.named{list-style:none;padding:0;margin:0}
.named>li{margin-bottom:.5rem}
.sum{display:flex;flex-wrap:wrap;gap:.25rem .6rem;align-items:baseline;margin:0 0 .5rem;font-variant-numeric:tabular-nums}
.sum .sign{color:var(--quiet)}
.sum b{font-weight:600}
.way{list-style:none;padding:0;margin:0}
.way>li{display:grid;grid-template-columns:1.6rem minmax(0,1fr);gap:0 .5rem;padding:.6rem 0;border-top:1px solid var(--line)}
.way>li:first-child{border-top:0}
.way .tick{font-weight:600;color:var(--quiet)}
.way .done .tick{color:var(--ok)}
.way h3{margin:0 0 .25rem}
.price{font-size:var(--title);font-weight:650;letter-spacing:-.015em;font-variant-numeric:tabular-nums;line-height:1.2}
.switch{display:inline-flex;align-items:center;gap:.5rem}
.track{display:inline-block;width:2rem;height:1.05rem;border:1px solid var(--edge);border-radius:1rem;background:var(--sunken);position:relative;flex:none}
.track::after{content:"";position:absolute;left:2px;top:2px;width:calc(1.05rem - 6px);height:calc(1.05rem - 6px);border-radius:50%;background:var(--edge)}
button[aria-checked=true] .track{background:var(--accent);border-color:var(--accent)}
button[aria-checked=true] .track::after{left:auto;right:2px;background:var(--on-accent)}
.filter{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin-bottom:.75rem}
.filter .field{margin:0;flex:1 1 14rem;max-width:24rem}
`;
