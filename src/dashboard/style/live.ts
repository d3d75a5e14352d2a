/** The live view. */
export const LIVE = `
.live-what{border:1px solid var(--line);border-radius:var(--radius);padding:.25rem .75rem;margin-bottom:.75rem}
.live-what summary{font-weight:600}
.live-counts{display:flex;flex-wrap:wrap;gap:.1rem 1.5rem;margin:0 0 .75rem;font-variant-numeric:tabular-nums}
.live-counts>div{display:flex;gap:.4rem}
.live-counts dt{color:var(--quiet)}
.live-counts dd{margin:0;font-weight:600}
.live-what summary .quiet{font-weight:400}
.live-what[open] summary{margin-bottom:.75rem}
.live-what form>:last-child{margin-bottom:.25rem}
.live-filter{display:grid;gap:0 1.5rem;grid-template-columns:minmax(0,1fr)}
@media (min-width:52rem){.live-filter{grid-template-columns:minmax(0,2fr) minmax(0,1fr)}}
.live-bar{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:0 0 .5rem}
.live-bar .field{margin:0;flex:1 1 14rem}
.live-off{color:var(--bad);font-weight:600}
.live-fault{display:block}
.live-mark.ok .mark{color:var(--ok)}
.live-mark.warn,.live-mark.warn .mark{color:var(--warn)}
.live-mark.bad,.live-mark.bad .mark{color:var(--bad)}
.live-table button{white-space:nowrap;border-color:var(--line)}
.live-table td{overflow-wrap:anywhere}
.live-source{display:block}
.list td.live-gap{background:var(--warn-ground);padding-left:.5rem}
@media (min-width:44rem){
  .live-table{table-layout:fixed}
  .live-table .foreign{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
  .live-table th:nth-child(1){width:9rem}
  .live-table th:nth-child(2){width:8rem}
  .live-table th:nth-child(3){width:9rem}
}
dialog{width:min(60rem,calc(100vw - 2rem));max-height:calc(100vh - 2rem);padding:1rem;color:var(--text);background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius)}
dialog::backdrop{background:rgb(0 0 0/.5)}
dialog header{display:flex;justify-content:space-between;align-items:center;margin-bottom:.5rem}
dialog pre{white-space:pre-wrap;overflow-wrap:anywhere}
dialog .scroll pre{width:auto}
`;
