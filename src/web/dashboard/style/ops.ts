/** Findings and lists of records, separated by lines. */
export const OPS = `
.findings{list-style:none;padding:0;margin:0 0 .75rem}
.findings>li{border-top:1px solid var(--line);padding:.6rem 0}
.findings>li>:last-child{margin-bottom:0}
.findings p{margin-bottom:.2rem;max-width:70rem}
.findings .lead{font-size:1rem;font-weight:600}
.beside{display:flex;flex-wrap:wrap;gap:0 1rem}
.facts time{white-space:normal}
.list tbody th .quiet{font-weight:400}
pre.text{white-space:pre-wrap;overflow-wrap:anywhere;overflow-x:visible}
`;
