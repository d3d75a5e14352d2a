/**
 * Panels, states, notices, tables, facts, snippets. Two links in a cell are 24 px apart; WCAG 2.2,
 * 2.5.8.
 */
export const PARTS = `
.panel{background:var(--surface);border:1px solid var(--line);border-radius:calc(var(--radius) + 2px);box-shadow:var(--shadow);padding:1rem 1.15rem;margin-bottom:var(--gap)}
.panel>header{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:baseline;justify-content:space-between;margin-bottom:.75rem}
.panel>:last-child{margin-bottom:0}
.columns{min-width:0;display:grid;gap:var(--gap) 1.5rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
@media (min-width:125rem){
  main:has(>:is(#cost,#counts)){display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:0 var(--gap);align-content:start}
  main:has(>:is(#cost,#counts))>*{grid-column:1/-1}
  main>:is(#functions,#ledger,#cost,#counts,#settings,#forget){grid-column:auto!important}
  main:has(>:is(#findings,#operations,#changes,#tail)){display:grid;grid-template:repeat(6,auto) 1fr/minmax(0,3fr) minmax(0,2fr);gap:0 var(--gap);align-content:start}
  main:has(>:is(#findings,#operations,#changes,#tail))>:not(.panel){grid-column:1/-1}
  main>:is(#findings,#operations,#changes){grid-area:2/1/-1/2;align-self:start}
  main:has(>:is(#findings,#operations,#changes))>.panel:not(#findings,#operations,#changes){grid-column:2;align-self:start}
  main:has(>#tail){grid-template:none/repeat(2,minmax(0,1fr))}
}
@media (max-width:44rem){
  .snippet pre{white-space:pre-wrap;overflow-wrap:anywhere;width:auto}
}
.columns>.panel{margin:0}
.facts{max-width:110rem}
.columns{margin-bottom:var(--gap)}
.mark{margin-right:.4em;font-size:.8em}
.ok .mark,.state.ok{color:var(--ok)}
.warn .mark,.state.warn{color:var(--warn)}
.bad .mark,.state.bad{color:var(--bad)}
.info .mark,.state.info{color:var(--info)}
.quiet .mark,.state.quiet{color:var(--quiet)}
.notice{border:1px solid var(--line);border-radius:calc(var(--radius) + 2px);padding:.75rem 1.15rem;margin-bottom:var(--gap);background:var(--surface)}
.notice>:last-child{margin-bottom:0}
.notice.ok{background:var(--ok-ground);border-color:color-mix(in srgb,var(--ok) 40%,transparent)}
.notice.warn{background:var(--warn-ground);border-color:color-mix(in srgb,var(--warn) 40%,transparent)}
.notice.bad{background:var(--bad-ground);border-color:color-mix(in srgb,var(--bad) 40%,transparent)}
.notice.info{background:var(--info-ground);border-color:color-mix(in srgb,var(--info) 40%,transparent)}
.notice-title{font-weight:600;margin-bottom:.25rem}
.empty{padding:1.25rem;border:1px dashed var(--line);border-radius:var(--radius);color:var(--quiet)}
.empty-title{font-weight:600;color:var(--text)}
.empty:not(:last-child){margin-bottom:.75rem}
.empty>:last-child{margin-bottom:0}
main>p,main>form,main>.empty:not(:last-child){margin-bottom:var(--gap)}
.facts{margin:0 0 .5rem;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,12.5rem),1fr));gap:.6rem 1.5rem}
.facts dt{color:var(--quiet);font-size:var(--small)}
.facts dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
table.list{border-collapse:collapse;width:100%;font-size:.93rem;font-variant-numeric:tabular-nums;margin-bottom:.5rem}
.list tbody tr:hover{background:color-mix(in srgb,var(--sunken) 60%,transparent)}
.list .sort{min-width:24px;min-height:24px;padding:0;border:0;background:none;color:inherit;font-weight:400}
.list .sort::after{content:"";display:inline-block;width:.9em;margin-right:-.9em;text-align:right}
.list [aria-sort=ascending] .sort::after{content:"↑"}
.list [aria-sort=descending] .sort::after{content:"↓"}
.list [aria-sort] .sort{color:var(--text);font-weight:600}
.list th,.list td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-top:1px solid var(--line);font-weight:400}
.list thead th{border-top:0;color:var(--quiet);font-size:var(--small);white-space:nowrap}
.list tbody th{font-weight:600;overflow-wrap:anywhere}
.list tbody th .mono{font-weight:400}
.list tbody th a,.list td:last-child a{line-height:1.8}
.list .figures{text-align:right;white-space:nowrap}
.list tr>:last-child{padding-right:0}
.list details>summary{padding-top:0}
@media (min-width:44rem){.list tbody th{min-width:10rem}}
@media (min-width:80rem){.list tbody th{min-width:15rem}}
@media (max-width:75rem){.list td time{white-space:normal}}
@media (max-width:44rem){
  .list,.list tbody,.list tr,.list td,.list tbody th{display:block}
  .list thead{position:absolute;left:-999rem}
  .list tr{border-top:1px solid var(--line);padding:.5rem 0}
  .list td,.list tbody th{border:0;padding:.1rem 0;text-align:left}
  .list .figures{text-align:left}
  .list td:empty{display:none}
  .list td[data-label]:not([data-label=""])::before{content:attr(data-label) ": ";color:var(--quiet)}
}
.snippet{margin:0 0 .75rem}
.snippet figcaption{display:flex;justify-content:space-between;align-items:end;gap:1rem;margin-bottom:.25rem;color:var(--quiet)}
.pager{display:flex;gap:1rem;align-items:center}
.lead{font-size:var(--large)}
`;
