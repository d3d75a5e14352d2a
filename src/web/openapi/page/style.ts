/**
 * The page's style sheet: one column, two colour schemes, every text with a contrast of at least 7
 * to 1.
 */
export const STYLE = `
:root{color-scheme:light dark;--text:#1b1f24;--ground:#fff;--soft:#f3f4f6;--line:#c9ced6;--link:#0a4a9e;--quiet:#42474f}
@media (prefers-color-scheme:dark){:root{--text:#eceff3;--ground:#14171b;--soft:#20252b;--line:#454c56;--link:#a5ccff;--quiet:#c2c8d0}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0 auto;max-width:60rem;padding:0 1rem 4rem;font:1rem/1.55 system-ui,sans-serif;color:var(--text);background:var(--ground);overflow-wrap:break-word}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999rem}
.skip:focus{position:static;display:inline-block;padding:.5rem 0}
h2{margin-top:3rem;border-bottom:1px solid var(--line)}
h3{margin-top:2.5rem}
nav ul{padding-left:1.2rem}
nav>ul{columns:17rem;column-gap:2rem}
code,pre{font:.875rem/1.5 ui-monospace,monospace;background:var(--soft);border-radius:3px}
code{padding:.1em .3em;overflow-wrap:anywhere}
pre{padding:.75rem;overflow-x:auto;border:1px solid var(--line)}
pre code{padding:0;background:none;overflow-wrap:normal}
.quiet{color:var(--quiet)}
.path{font-weight:600}
figure{margin:1rem 0}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
caption{text-align:left;font-weight:600;padding:.5rem 0}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-top:1px solid var(--line)}
th{font-weight:600}
@media (min-width:40rem){table.fields tbody th code,table.fields td:first-child code{white-space:nowrap}}
@media (max-width:40rem){table.fields,table.fields tbody,table.fields tr,table.fields th,table.fields td,table.fields caption{display:block}table.fields thead{position:absolute;left:-999rem}table.fields th,table.fields td{border:0;padding:.1rem 0}table.fields tr{border-top:1px solid var(--line);padding:.4rem 0}}
@media print{nav,.skip{display:none}}
`;
