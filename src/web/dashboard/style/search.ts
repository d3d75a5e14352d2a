/** The search, and whole records. */
export const SEARCH = `
.search-fields,.search-time{display:grid;gap:0 .75rem;grid-template-columns:repeat(2,minmax(0,1fr));align-items:end}
.search-fields .field{margin-bottom:.6rem}
.search-fields button{margin-bottom:.6rem}
.search-fields>:first-child,.search-fields>:nth-child(n+4){grid-column:1/-1}
.search-form:not(:has([value=around]:checked)) .search-time>:first-child,.search-form:not(:has([value=own]:checked)) .search-time>:nth-child(2),.search-form:not(:has([value=own]:checked)) .search-time>:nth-child(3),.search-form:not(:has([value=own]:checked,[value=around]:checked)) .search-time{display:none}
@media (min-width:52rem){
  .search-fields{grid-template-columns:minmax(0,3fr) repeat(3,minmax(0,2fr)) auto}
  .search-fields>:first-child,.search-fields>:nth-child(n+4){grid-column:auto}
  .search-fields>.search-time{grid-row:2;grid-column:1/-1;grid-template-columns:repeat(4,minmax(0,16rem))}
}
.hits{display:flex;flex-direction:column}
.hits>h2{order:-3}
.hits>.progress{order:-2;margin:0 0 .5rem}
.hits>.progress:not(:last-of-type){display:none}
.hits>.chart{order:-1}
.hits>.chart svg{height:3rem}
.hits>.records{margin:0}
.hit>summary{display:grid;gap:0 .6rem;padding:.15rem 0;grid-template-columns:auto minmax(0,1fr) auto;font-variant-numeric:tabular-nums}
.hit>summary>*,.hit>summary .foreign{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.hit>summary .foreign{display:inline}
.hit>summary>:nth-child(4){grid-row:1;grid-column:3}
.hit>summary>:nth-child(5){grid-column:2/-1}
.hit>summary>:nth-child(6){grid-column:1/-1}
.hit[open]>summary{background:var(--ground)}
.hit-time{color:var(--quiet)}
.keys,[data-halt],[data-close]{display:none}
@media (scripting:enabled) and (hover:hover){.keys{display:block}}
@media (scripting:enabled){[data-close]{display:block;margin-left:auto}.hits:not(:has([data-end]))>[data-halt]{display:block;order:-2;justify-self:start;align-self:start}}
.ways{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.record-details{padding:.5rem .75rem;background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius);}
.record-details td:last-child{overflow-wrap:anywhere}
.record-details table{border-collapse:collapse;width:100%;margin-bottom:.75rem}
.record-details th{text-align:left;vertical-align:top;font-weight:400;color:var(--quiet);padding-right:.75rem;width:13rem}
.record-details td{vertical-align:top;padding-right:.75rem}
.logged td:last-child{width:100%}
@media (min-width:52rem){.logged td:not(:last-child),.logged td:not(:last-child) .foreign{white-space:nowrap;overflow-wrap:normal}}
.thrown{list-style:none;margin:0 0 .75rem;padding:0}
.thrown pre{white-space:pre-wrap}
.narrow{white-space:nowrap}
.narrow a{padding:0 .35rem;text-decoration:none}
@media (max-width:51.9rem){.record-details th{width:auto;display:block}.record-details td{display:block}}
@media (min-width:52rem){
  .hit>summary{grid-template-columns:auto 8rem 9rem 5.5rem minmax(0,3fr) minmax(0,2fr)}
  .hit>summary>:nth-child(n+4){grid-row:auto;grid-column:auto}
}
@media (min-width:75rem){
  main:has(.hit[open]){padding-right:calc(48vw + 1rem)}
  main:has(.hit[open]) .search-fields{grid-template-columns:repeat(3,minmax(0,1fr)) auto}
  main:has(.hit[open]) .search-fields>:first-child{grid-column:1/-1}
  main:has(.hit[open]) .search-fields>.search-time{grid-row:3;grid-template-columns:repeat(2,minmax(0,1fr))}
  .hits:has(.hit[open]) .hit>summary{grid-template-columns:auto auto minmax(6rem,1fr) auto minmax(0,2fr)}
  .hits:has(.hit[open]) .hit>summary>:last-child{display:none}
  .hit[open]>.record-details{position:fixed;top:0;right:0;bottom:0;width:48vw;overflow:auto;padding:1rem 1.25rem;border-width:0 0 0 1px;border-color:var(--line);border-radius:0;box-shadow:0 0 24px light-dark(rgb(20 22 40/.08),rgb(0 0 0/.5));z-index:2}
}
`;
