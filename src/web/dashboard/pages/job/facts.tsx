import type { FC } from "hono/jsx";
import { isMasked } from "../../../../ship/destinations/parse.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { State } from "../../parts/panel.tsx";

/** A masked destination without its keys. "": no key decrypts it. */
export const Destination: FC<{ conf: string }> = ({ conf }) =>
  conf === "" ? (
    <State kind="bad">cannot be decrypted</State>
  ) : (
    <code>
      <Foreign text={withoutKeys(conf)} max={1_024} />
    </code>
  );

function withoutKeys(conf: string): string {
  const [place = "", query = ""] = conf.split("?", 2);
  const kept = query.split("&").filter((pair) => pair !== "" && !isMasked(`x?${pair}`));
  return kept.length === 0 ? place : `${place}?${kept.join("&")}`;
}

export const FilterText: FC<{ filter: string | null | undefined }> = ({ filter }) =>
  filter == null || filter === "" ? null : (
    <details>
      <summary>Filter</summary>
      <pre class="whole">
        <Foreign text={filter} max={8_192} />
      </pre>
    </details>
  );
