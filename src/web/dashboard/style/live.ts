/** The live view: a line for each record, over the full width. */
export const LIVE = `
.live-form{margin-bottom:.25rem!important}
.live-bar{display:flex;flex-wrap:wrap;gap:.35rem .75rem;align-items:center}
.live-bar label{display:flex;gap:.4rem;align-items:center;flex:1 1 12rem;max-width:26rem;font-weight:600;white-space:nowrap}
.live-bar .live-check{flex:0 0 auto}
.live-check input{width:1.1em;height:1.1em;accent-color:var(--accent)}
.live-what summary .quiet{font-weight:400}
.live-line{display:flex;flex-wrap:wrap;gap:0 1.1rem;margin:0 0 .2rem;font-variant-numeric:tabular-nums}
@media (hover:none){.live-line:has(kbd){display:none}}
.live-off,#live-held{color:var(--bad);font-weight:600}
#live-held{color:var(--warn)}
.live-mark.ok .mark{color:var(--ok)}
.live-mark.warn,.live-mark.warn .mark{color:var(--warn)}
.live-mark.bad,.live-mark.bad .mark{color:var(--bad)}
.live-rows{list-style:none;margin:0;padding:0;border-top:1px solid var(--line)}
.live-rows li{border-bottom:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 24px}
.live-gap{background:var(--warn-ground);padding:0 .4rem}
.live-rows button{display:grid;grid-template-columns:6.6rem 8rem 9rem minmax(0,1fr) minmax(0,1fr) 4rem;gap:.6rem;width:100%;min-height:24px;padding:0 .3rem;border:0;border-radius:0;background:none;text-align:left;font-family:var(--mono);font-size:.86rem;line-height:23px}
.live-rows button:hover{background:var(--sunken)}
.live-rows button:focus-visible{outline-offset:-2px}
.live-rows button>*{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;min-width:0}
.live-count{text-align:right;font-weight:600}
@media (max-width:60rem){
  .live-rows li{contain-intrinsic-size:auto 46px}
  .live-rows button{grid-template-columns:6.6rem minmax(0,1fr) minmax(0,1fr) 4rem;gap:0 .6rem}
  .live-rows .live-event{grid-row:2;grid-column:1/-1}
  .live-rows button>:nth-child(5){grid-row:3;grid-column:1/-1}
  .live-rows button>:nth-child(5):empty{display:none}
}
dialog{width:min(70rem,calc(100vw - 2rem));max-height:calc(100vh - 2rem);padding:1rem;color:var(--text);background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius)}
dialog::backdrop{background:rgb(0 0 0/.5)}
dialog header{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:.25rem 1rem;margin-bottom:.5rem}
dialog .actions{margin:0}
dialog pre{white-space:pre-wrap;overflow-wrap:anywhere}
dialog .scroll pre{width:auto}
.live-values{border-collapse:collapse;width:100%;table-layout:fixed}
.live-values th,.live-values td{text-align:left;vertical-align:top;font-weight:400;padding:.15rem .5rem .15rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.live-values tbody th{width:32%;color:var(--quiet)}
.live-values tr>:last-child{width:5.5rem;white-space:nowrap}
.live-values .small{padding:.1rem .45rem;margin-right:.2rem}
`;
