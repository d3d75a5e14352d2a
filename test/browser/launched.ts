/** Launches a browser, prints its processes, and waits to be killed by killed.test.ts. */
import { launch } from "./browser.ts";

const browser = await launch();
const page = await browser.newPage();
await page.goto("data:text/html,<h1>there</h1>");
process.send?.("there");
await new Promise(() => {
  // Keeps it alive until it is killed.
  setInterval(() => {}, 60_000);
});
