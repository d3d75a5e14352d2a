import type { FC } from "hono/jsx";
import type { PreviewResult } from "../../../api/preview.ts";
import { Panel } from "../../parts/panel.tsx";
import { plural } from "../../parts/values.tsx";
import type { ShippingBody } from "./body.ts";

/** What `POST /preview` answers. */
export type PreviewView = PreviewResult;

export const PreviewPanel: FC<{ preview: PreviewView; body: ShippingBody }> = ({ preview }) => (
  <Panel id="preview" title="Preview">
    <p>{plural(preview.kept, "record")} kept</p>
  </Panel>
);
