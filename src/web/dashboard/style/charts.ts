/** Charts, the flow of a ledger, and records. */
export const CHARTS = `
.chart{margin:0 0 1.25rem;min-width:0}
.columns>.chart:has(details[open]){grid-column:1/-1}
.chart figcaption{display:flex;flex-wrap:wrap;gap:.1rem 1rem;align-items:baseline;justify-content:space-between}
.chart h3{margin:0}
.chart svg{display:block;width:100%;height:6.5rem;border-bottom:1px solid var(--edge)}
.chart p{margin:0 0 .25rem}
.axis{font-size:.86rem;font-variant-numeric:tabular-nums}
.said{min-height:1.5em;margin:0!important}
.said:empty,.axis[hidden]+.said:empty{display:none}
.chart svg.read>:not(.at){opacity:.35}
.chart:focus-visible{outline-offset:6px}
.ends{display:flex;justify-content:space-between}
.legend{display:flex;flex-wrap:wrap;gap:.1rem .75rem}
.fill-bar{fill:var(--bar)}.swatch-bar{color:var(--bar)}
.fill-faint{fill:var(--line)}.swatch-faint{color:var(--edge)}
.fill-ok{fill:var(--ok)}.swatch-ok{color:var(--ok)}
.fill-warn{fill:var(--warn)}.swatch-warn{color:var(--warn)}
.fill-bad{fill:var(--bad)}.swatch-bad{color:var(--bad)}
.fill-info{fill:var(--info)}.swatch-info{color:var(--info)}
.fill-quiet{fill:var(--edge)}.swatch-quiet{color:var(--edge)}
.fill-none{fill:transparent}
.chart svg a:hover .fill-none{fill:var(--accent);fill-opacity:.15}
.share{display:block;width:100%;height:.5rem;background:var(--sunken);border-radius:2px}
.flow,.flow ol{list-style:none;margin:0;padding:0}
.flow ol{border-left:2px solid var(--line);margin:0 0 .25rem .3rem;padding-left:.9rem}
.flow-row{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 .75rem;padding:.2rem 0;font-variant-numeric:tabular-nums}
.flow-row .share{grid-column:1/-1}
@media (min-width:44rem){.flow-row{grid-template-columns:20rem minmax(4rem,1fr) 14rem;align-items:center}.flow-row .share{grid-column:auto;grid-row:1;grid-column-start:2}.flow-row .flow-count{text-align:right}}
.equation{max-width:none;font-variant-numeric:tabular-nums}
.range{display:flex;flex-wrap:wrap;gap:.25rem .75rem}
.range a[aria-current]{color:var(--text);font-weight:600;text-decoration:none}
.records{list-style:none;margin:0 0 .5rem;padding:0}
.records>li{border-top:1px solid var(--line)}
.record>summary{padding:.35rem 0;font-variant-numeric:tabular-nums}
.record>summary>*{margin-right:.5rem}
.record>summary .state{white-space:normal}
.record-number{display:inline-block;min-width:2.5ch;text-align:right}
.record-script{font-weight:600}
.record-line{display:block;padding-left:1rem}
.whole{white-space:pre-wrap;overflow-wrap:anywhere;overflow-x:visible;margin:0 0 .5rem}
.search{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin-bottom:.75rem}
.search .field{margin:0;flex:1 1 14rem}
progress{width:100%;max-width:24rem;height:.75rem;accent-color:var(--accent)}
`;
