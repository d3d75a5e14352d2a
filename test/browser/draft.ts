import type { Stage } from "./browser.ts";
import { PATTERNS } from "./pages-there-are.ts";

/** Copies a job up to the last step of the form. @returns the draft's id. */
export async function beginDraft(stage: Stage, job: number): Promise<string> {
  if (!PATTERNS.includes("/jobs/new/:draft/finish")) return "";
  const page = await stage.signedIn();
  await page.evaluate(async (action) => {
    const csrf = document.querySelector<HTMLInputElement>("input[name=csrf]")?.value ?? "";
    location.assign((await fetch(action, { method: "POST", body: new URLSearchParams({ csrf }) })).url);
  }, `/jobs/${job}/duplicate`);
  for (const next of ["destination", "records", "output", "preview", "ownership"]) {
    await page.waitForURL(`**/jobs/new/*/${next}`);
    await page.locator("main button.primary").first().click();
  }
  await page.waitForURL("**/jobs/new/*/finish");
  const id = /new\/([^/]+)\/finish/.exec(page.url())?.[1] ?? "";
  await page.context().close();
  return id;
}
