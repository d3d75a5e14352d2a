/**
 * Colours in two schemes, and measures. Contrast with every ground: texts at least 4.5 to 1, marks
 * and the edges of fields 3 to 1. The accent is for what can be clicked, and for nothing else.
 */
export const TOKENS = `
:root{
  color-scheme:light dark;
  --ground:light-dark(#fafafb,#0e0f13);
  --surface:light-dark(#ffffff,#15171c);
  --sunken:light-dark(#f1f2f5,#0a0b0e);
  --line:light-dark(#e2e4e9,#282b33);
  --edge:light-dark(#7d8493,#757d8c);
  --text:light-dark(#16181d,#e9ebef);
  --quiet:light-dark(#545b69,#a3aab8);
  --accent:light-dark(#3a45c4,#a5b1ff);
  --on-accent:light-dark(#ffffff,#0f1222);
  --ok:light-dark(#16663a,#6cd199);
  --warn:light-dark(#7a4d00,#efb85c);
  --bad:light-dark(#ab1a25,#ff979b);
  --info:light-dark(#3a45c4,#a5b1ff);
  --ok-ground:light-dark(#ecf7f0,#11231a);
  --warn-ground:light-dark(#fdf5e4,#292010);
  --bad-ground:light-dark(#fdeeef,#2e1618);
  --info-ground:light-dark(#eef0fe,#191d35);
  --bar:light-dark(#6a76dd,#7c89ea);
  --shadow:0 1px 2px light-dark(rgb(20 22 40/.06),rgb(0 0 0/.4));
  --small:.857rem;
  --large:1.143rem;
  --title:1.571rem;
  --radius:6px;
  --gap:1rem;
  --font:system-ui,-apple-system,"Segoe UI",sans-serif;
  --mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace
}
`;
