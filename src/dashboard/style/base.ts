/**
 * Elements, and the frame of a page: the navigation is at the side on wide screens, else on top.
 */
export const BASE = `
*{box-sizing:border-box}
[hidden]{display:none!important}
html{font:14px/1.5 var(--font);color:var(--text);background:var(--ground);scroll-padding-top:1rem;overflow-wrap:break-word}
body{margin:0;min-height:100vh}
@media (min-width:60rem){body:has(.banner){display:grid;grid-template-columns:13rem minmax(0,1fr)}}
main{padding:1rem;max-width:80rem;width:100%}
main:focus{outline:none}
@media (min-width:60rem){main{padding:1.5rem 2rem 4rem}}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.07rem;margin:0}
h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:0 0 .5rem}
ul,ol{margin:0 0 .5rem;padding-left:1.2rem}
a{color:var(--accent);text-underline-offset:.15em}
:focus-visible,input:focus-within{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}
code,pre,.mono{font-family:var(--mono);font-size:.93em}
code{overflow-wrap:anywhere}
pre{margin:0;padding:.75rem;background:var(--sunken);border:1px solid var(--line);border-radius:var(--radius);overflow-x:auto}
details>summary{cursor:pointer;padding:.25rem 0}
details[open]>summary{margin-bottom:.5rem}
.scroll{overflow-x:auto}
.scroll pre{overflow:visible;width:max-content;min-width:100%}
time{white-space:nowrap}
.quiet{color:var(--quiet)}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-999rem}
.skip:focus{left:.5rem;top:.5rem;z-index:9;padding:.5rem .75rem;background:var(--surface)}
.foreign{white-space:pre-wrap;overflow-wrap:anywhere}
.banner{background:var(--surface);border-bottom:1px solid var(--line);padding:.5rem 1rem;display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:center}
.banner p{margin:0}
.brand{font-weight:600}
.brand a{color:inherit;text-decoration:none;font-size:1.14rem}
.brand .quiet{font-weight:400;overflow-wrap:anywhere}
.banner nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:0 .25rem}
.banner nav a,.banner nav .closed{display:block;padding:.3rem .5rem;border-radius:var(--radius);color:var(--text);text-decoration:none}
.banner nav a:hover{background:var(--sunken)}
.banner nav a[aria-current]{background:var(--info-ground);color:var(--accent);font-weight:600}
.banner nav .closed{color:var(--quiet);text-decoration:line-through}
.who{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;margin-left:auto}
@media (min-width:60rem){
  .banner{border-bottom:0;border-right:1px solid var(--line);flex-direction:column;flex-wrap:nowrap;align-items:stretch;padding:1.25rem .75rem;position:sticky;top:0;height:100vh;overflow-y:auto;gap:1rem}
  .brand{padding:0 .5rem}
  .banner nav ul{flex-direction:column}
  .who{margin:auto 0 0;padding:0 .5rem;flex-direction:column;align-items:flex-start}
}
.trail{display:flex;flex-wrap:wrap;gap:0 .5rem;margin-bottom:.25rem}
.trail a{overflow-wrap:anywhere;min-width:0;padding:.15rem 0}
.trail a::after{content:" /";display:inline-block;white-space:pre;color:var(--quiet)}
@media print{.banner,.skip{display:none}}
@media (prefers-reduced-motion:no-preference){a{transition:background-color .1s}}
`;
