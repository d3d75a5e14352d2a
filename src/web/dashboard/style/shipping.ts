/** The form of a job: kinds of destinations, options, the filter builder, the preview bar. */
export const SHIPPING = `
.kinds,.further{margin-bottom:.9rem}
.kinds .hint{margin-top:.5rem}
.kinds [aria-pressed=true]{border-color:var(--accent);background:var(--info-ground);font-weight:600}
.choice:has(>.check input:not(:checked))>.field{display:none}
@media (min-width:75rem){
  .job{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 var(--gap);align-items:start}
  .job>:not(.panel){grid-column:1/-1}
}
.option{margin:0 -1.15rem;padding:.35rem 1.15rem;border-top:1px solid var(--line)}
.option[open]{padding-bottom:.75rem}
.option>summary .quiet{margin-left:.5rem}
.option>fieldset:first-of-type{border:0;padding:0;margin:0}
.option>#filter>legend{position:absolute;clip-path:inset(50%)}
fieldset.fields:has(#fields-all:checked) .picks{display:none}
.picks ul{list-style:none;margin:0;padding:0}
.picks li{display:grid;grid-template-columns:auto minmax(0,1fr) 5rem;gap:0 .5rem;align-items:center;padding:.3rem 0;border-top:1px solid var(--line)}
.picks .hint{grid-column:2/-1;margin:0}
.picks input[type=checkbox]{width:1.1em;height:1.1em;accent-color:var(--accent)}
.filter-group{margin-bottom:.5rem;padding:.5rem .75rem;border-left-width:3px;min-width:0}
.filter-group legend{color:var(--quiet);font-size:.93rem;font-weight:400}
.filter-join select{width:auto;max-width:100%}
.filter-nodes{list-style:none;margin:0 0 .5rem;padding:0}
.condition{display:grid;grid-template-columns:minmax(0,1fr);gap:.35rem;margin-bottom:.5rem}
.condition .small{justify-self:start}
#filter,.filter-group{container-type:inline-size}
@container (min-width:26rem){.condition{grid-template-columns:repeat(2,minmax(0,1fr));align-items:start}}
@container (min-width:33rem){.condition{grid-template-columns:minmax(0,4fr) minmax(0,4fr) minmax(0,3fr) auto;align-items:start}}
.filter-group .filter-group .filter-group{padding:.25rem .4rem}
.filter-group .filter-group .filter-group .filter-group .filter-group .filter-group{padding:.25rem 0;border-width:1px 0 0 1px}
.preview-bar{display:block;margin-bottom:.5rem;border:1px solid var(--line)}
.part-kept{fill:var(--bar)}
.part-filtered,.part-sampled-out{fill:var(--edge)}
.save{padding:.5rem 0;border-top:1px solid var(--line)}
`;
