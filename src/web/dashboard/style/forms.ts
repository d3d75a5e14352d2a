/** Fields and buttons. Targets are at least 24 px high; WCAG 2.2, 2.5.8. */
export const FORMS = `
.field{margin-bottom:.9rem;max-width:44rem}
.field label,.check label,legend{font-weight:600}
fieldset{border:1px solid var(--line);border-radius:var(--radius);margin:0 0 var(--gap);padding:.75rem 1rem}
legend{padding:0 .4rem}
.hint{color:var(--quiet);margin:0 0 .25rem}
.error{color:var(--bad);margin:.25rem 0 0;font-weight:600}
input,select,textarea,button{font:inherit;color:inherit}
input:not([type=checkbox]):not([type=radio]),select,textarea{width:100%;min-height:2.35rem;padding:.35rem .5rem;background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius)}
textarea{font-family:var(--mono);font-size:.93rem}
input[aria-invalid=true],textarea[aria-invalid=true]{border-color:var(--bad);border-width:2px}
.check{display:grid;grid-template-columns:auto minmax(0,1fr);gap:0 .5rem;margin-bottom:.5rem;max-width:44rem}
.check input{margin:.25em 0 0;width:1.1em;height:1.1em;accent-color:var(--accent)}
.check .hint{grid-column:2}
.check label{font-weight:400}
button,.button{display:inline-block;min-height:2.35rem;padding:.35rem .9rem;border:1px solid var(--edge);border-radius:var(--radius);background:var(--surface);color:var(--text);font-weight:500;text-decoration:none;cursor:pointer}
button:hover,.button:hover{background:var(--sunken)}
button.primary,.button.primary{background:var(--accent);border-color:var(--accent);color:var(--on-accent);font-weight:600}
button.primary:hover,.button.primary:hover{filter:brightness(1.1)}
button.danger{border-color:var(--bad);color:var(--bad)}
button.small,.button.small{min-height:1.85rem;padding:.15rem .65rem;font-size:.93rem}
button:disabled{color:var(--quiet);border-style:dashed;cursor:not-allowed;background:none}
@media (prefers-reduced-motion:no-preference){button{transition:background-color .1s}}
.sign-in{max-width:25rem;margin:0 auto}
body:not(:has(.banner)) main{max-width:40rem;margin:0 auto;padding-top:min(14vh,8rem)}
body:not(:has(.banner)) h1{text-align:center}
body:not(:has(.banner)) main>.logo{display:block;width:3rem;height:3rem;margin:0 auto 1rem}
.sign-in .primary{width:100%;margin-bottom:.75rem}
.action{display:inline-block}
.actions{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin-bottom:.5rem}
`;
