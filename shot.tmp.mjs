import { chromium } from "playwright-core";
import AxeBuilder from "@axe-core/playwright";
const Axe = AxeBuilder.default ?? AxeBuilder;
const br = await chromium.launch({executablePath:'/usr/bin/chromium',args:['--no-sandbox']});
const ctx = await br.newContext({baseURL:'http://localhost:8831',viewport:{width:1280,height:900},colorScheme:process.env.DARK?'dark':'light'});
const p = await ctx.newPage();
p.on('console',m=>{if(m.type()==='error')console.log('console',m.text())});
await p.goto('/sign-in'); await p.getByLabel('Token',{exact:true}).fill(process.env.TOKEN); await p.getByRole('button',{name:'Sign in'}).click(); await p.waitForURL(/\/$/);
for (const [name,path] of JSON.parse(process.env.PAGES)) {
  for (const w of [1280,360]) {
    await p.setViewportSize({width:w,height:900});
    const r=await p.goto(path);
    await p.locator('#main').waitFor();
    if(path.includes('/objects/')) await p.locator('details.record').nth(0).evaluate(e=>e.open=true).catch(()=>{});
    const over=await p.evaluate(()=>document.documentElement.scrollWidth-innerWidth);
    const axe=await new Axe({page:p}).withTags(['wcag2a','wcag2aa','wcag21aa','wcag22aa','best-practice']).analyze();
    console.log(name,w,r.status(),'overflow',over,'axe',JSON.stringify(axe.violations.map(v=>[v.id,v.nodes.slice(0,2).map(n=>n.html.slice(0,150))])));
    await p.screenshot({path:`/tmp/job-${name}-${w}.png`,fullPage:true});
  }
}
await br.close();
