/**
 * Colours in two schemes, and measures. Contrast with every ground: texts at least 4.5 to 1, marks
 * 3 to 1.
 */
export const TOKENS = `
:root{
  color-scheme:light dark;
  --ground:light-dark(#f7f8fa,#101317);
  --surface:light-dark(#ffffff,#171b20);
  --sunken:light-dark(#eef0f3,#0c0f12);
  --line:light-dark(#d4d9e0,#313840);
  --edge:light-dark(#7c8694,#76818e);
  --text:light-dark(#181c22,#e8ebef);
  --quiet:light-dark(#4f5966,#a6b0bc);
  --accent:light-dark(#14508c,#8ec5ff);
  --on-accent:light-dark(#ffffff,#0c1218);
  --ok:light-dark(#176639,#6fd39a);
  --warn:light-dark(#7a4d00,#f0b95b);
  --bad:light-dark(#a61b1b,#ff9b94);
  --info:light-dark(#14508c,#8ec5ff);
  --ok-ground:light-dark(#e8f5ed,#12261b);
  --warn-ground:light-dark(#fdf3df,#2b220f);
  --bad-ground:light-dark(#fdecec,#311818);
  --info-ground:light-dark(#e9f1fa,#14222f);
  --bar:light-dark(#3f7fbf,#5b9bd8);
  --radius:4px;
  --gap:1rem;
  --font:system-ui,-apple-system,"Segoe UI",sans-serif;
  --mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace
}
`;
