/** The wizard for a new job. */
export const CREATE = `
.steps{margin-bottom:var(--gap)}
.steps p{margin:0}
.steps ol{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem .5rem;counter-reset:step}
.steps li{counter-increment:step}
.steps li>*{display:inline-block;padding:.25rem .6rem;border:1px solid var(--line);border-radius:var(--radius);background:var(--surface)}
.steps li>*::before{content:counter(step) ". "}
.steps [aria-current]{border-color:var(--accent);background:var(--info-ground);font-weight:600}
.button[aria-current]{border-color:var(--accent);background:var(--info-ground);font-weight:600}
.leave{display:flex;margin-top:1.5rem;flex-wrap:wrap;gap:.25rem 1rem;align-items:baseline;justify-content:space-between;border-top:1px solid var(--line);padding-top:.75rem}
.choices{display:grid;gap:var(--gap);grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr))}
.choices>div{display:flex;flex-direction:column;align-items:flex-start;border:1px solid var(--line);border-radius:var(--radius);padding:.75rem 1rem}
.choices .action{margin-top:auto}
.choices h4{margin:0}
.choices p{margin:.25rem 0 .5rem}
.kinds,.further{margin-bottom:var(--gap)}
.further summary{margin-bottom:.5rem}
`;
