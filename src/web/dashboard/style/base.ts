/**
 * Elements, and the frame of a page: the navigation is at the side on wide screens, else behind a
 * button.
 */
export const BASE = `
*{box-sizing:border-box}
[hidden]{display:none!important}
html{font:14px/1.5 var(--font);color:var(--text);background:var(--ground);scroll-padding-top:1rem;overflow-wrap:break-word;-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh}
main{padding:1rem;width:100%;min-width:0}
main:focus{outline:none}
h1{font-size:var(--title);line-height:1.25;letter-spacing:-.015em;margin:0 0 1rem;font-weight:650}
h2{font-size:1.07rem;margin:0;font-weight:650}
h3{font-size:1rem;margin:1rem 0 .25rem;font-weight:650}
p{margin:0 0 .5rem;max-width:100ch}
ul,ol{margin:0 0 .5rem;padding-left:1.2rem}
a{color:var(--accent);text-underline-offset:.2em;text-decoration-thickness:1px;text-decoration-color:color-mix(in srgb,currentColor 45%,transparent)}
a:hover{text-decoration-color:currentColor}
:focus-visible,input:focus-within{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
code,pre,kbd,.mono{font-family:var(--mono);font-size:.93em}
code{overflow-wrap:anywhere}
kbd{padding:0 .35em;border:1px solid var(--line);border-bottom-width:2px;border-radius:4px;background:var(--surface);color:var(--quiet)}
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
.banner{background:var(--surface);border-bottom:1px solid var(--line);padding:.5rem 1rem;display:flex;gap:.5rem;align-items:center}
.banner p{margin:0}
.brand{flex:1;min-width:0;font-weight:650}
.brand a{display:inline-flex;gap:.5rem;align-items:center;color:inherit;text-decoration:none;font-size:var(--large);letter-spacing:-.01em}
.brand .quiet{font-size:var(--small);font-weight:400;overflow-wrap:anywhere}
.logo{width:1.5rem;height:1.5rem;flex:none}
.icon{width:1rem;height:1rem;flex:none;fill:none;stroke:currentColor;stroke-width:1.4;stroke-linecap:round;stroke-linejoin:round}
.side ul{list-style:none;margin:0;padding:0}
.side ul+h2{margin-top:.9rem}
.side h2{padding:.15rem .6rem;font-size:var(--small);font-weight:500;color:var(--quiet)}
.side li>*{display:flex;gap:.6rem;align-items:center;min-height:2rem;padding:.2rem .6rem;border-radius:var(--radius);color:var(--text);text-decoration:none}
.side li .icon{color:var(--quiet)}
.side li a:hover{background:var(--sunken)}
.side a[aria-current]{background:var(--info-ground);color:var(--accent);font-weight:600}
.side a[aria-current] .icon{color:inherit}
.side li .closed{color:var(--quiet);text-decoration:line-through}
.side .find{display:flex;gap:.6rem;align-items:center;min-height:2.15rem;margin-bottom:.75rem;padding:.2rem .6rem;border:1px solid var(--edge);border-radius:var(--radius);background:var(--surface);color:var(--quiet);text-decoration:none}
.side .find kbd{margin-left:auto}
.who{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;justify-content:space-between;margin-top:1rem;padding:.75rem .6rem 0;border-top:1px solid var(--line)}
.side[popover]:popover-open{position:fixed;inset:0 0 0 auto;width:min(18rem,100%);max-height:none;height:100%;margin:0;padding:1rem;overflow-y:auto;border:0;border-left:1px solid var(--line);background:var(--surface);color:var(--text)}
.side::backdrop{background:rgb(0 0 0/.45)}
.found{list-style:none;margin:0;padding:0;max-width:44rem}
.found a{display:flex;gap:.25rem;align-items:baseline;padding:.35rem .6rem;border-radius:var(--radius);color:inherit;text-decoration:none}
.found a .quiet{margin-left:auto;padding-left:1rem;font-size:var(--small)}
.found a:hover,.found a:focus,.finder input:focus~div li:first-child a{background:var(--info-ground)}
.finder{width:min(40rem,calc(100vw - 2rem));margin-top:12vh;padding:.5rem}
.finder::backdrop{background:rgb(0 0 0/.35)}
.finder input{margin-bottom:.5rem;border-color:transparent!important;font-size:var(--large)}
.finder li.quiet{padding:.35rem .6rem}
.trail{display:flex;flex-wrap:wrap;gap:0 .5rem;margin-bottom:.25rem;font-size:var(--small)}
.trail a{overflow-wrap:anywhere;min-width:0;padding:.4rem 0}
.trail a::after{content:" /";display:inline-block;white-space:pre;color:var(--quiet)}
@media (min-width:60rem){
  body:has(.banner){display:grid;grid-template-columns:14.5rem minmax(0,1fr)}
  main{padding:1.5rem 2rem 4rem}
  .banner{border-bottom:0;border-right:1px solid var(--line);flex-direction:column;align-items:stretch;padding:1.1rem .75rem .75rem;position:sticky;top:0;height:100vh;overflow-y:auto;gap:1rem}
  .banner .menu{display:none}
  .brand{flex:none;padding:0 .6rem}
  .brand .quiet{display:block}
  .side[popover]{position:static;display:flex;flex-direction:column;flex:1;width:auto;height:auto;margin:0;padding:0;border:0;overflow:visible;background:none;color:inherit}
  .who{margin-top:auto}
}
@media (min-width:110rem){main{padding-inline:3rem}}
@media print{.banner,.skip{display:none}}
@media (prefers-reduced-motion:no-preference){a{transition:background-color .1s}}
`;
