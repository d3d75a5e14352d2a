import type { Page, PageContext, View } from "../page.ts";
import { Notice } from "../parts/panel.tsx";

export const overviewPages: readonly Page[] = [{ path: "/", get: { permission: null, show: overviewView } }];

async function overviewView({ viewer }: PageContext): Promise<View> {
  return {
    title: "Overview",
    section: "overview",
    parts: [<Notice kind="info" title={`Signed in as ${viewer.caller.name}`} />],
  };
}
