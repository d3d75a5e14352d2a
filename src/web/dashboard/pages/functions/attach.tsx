import { readIntakeConfig } from "../../../../config.ts";
import { localUrl } from "../../../../state/local/runnable.ts";
import type { PageContext, View } from "../../page.ts";
import { coded } from "../../parts/destination-fields.tsx";
import { Panel, Snippet } from "../../parts/panel.tsx";
import {
  attachCommand,
  attachJsonc,
  attachPreviewsJsonc,
  attachToml,
  BINDING_CALL,
  bindingJsonc,
  eventsCurl,
  FRAMEWORKS,
  LOCAL_TOKEN,
  SHOP_MODULE,
  uploadCurl,
} from "./snippets.ts";

/** All ways to send the events of a function here, ready to copy. */
export async function attachView({ config, env, origin }: PageContext): Promise<View> {
  const selfName = readIntakeConfig(env).selfName ?? "logship";
  const { accountId, localFunctions, upstream } = config;
  const runsAt = localFunctions === null ? null : localUrl(localFunctions, "shop");
  return {
    title: "Attach a Worker",
    parts: [
      <Panel id="tail" title="Project file">
        <p>
          Add logship as a tail consumer to the Worker's project file, and deploy it. Existing jobs ship its events from
          the first one.
        </p>
        <Snippet id="tail-jsonc" label="Project file (JSONC)" text={attachJsonc(selfName)} />
        <Snippet id="tail-toml" label="Project file (TOML)" text={attachToml(selfName)} />
        <p>
          In a checkout of logship, <code>{attachCommand(selfName)}</code> adds it, also to each environment, as
          environments do not inherit it. With <code>--all</code> it does so for every project below a folder.
        </p>
        <p>
          Previews do not inherit it either: if the file has <code>previews</code>, add it there, too. A user Worker of
          a dispatch namespace needs it in the metadata of its own upload.
        </p>
        <Snippet id="previews-jsonc" label="Previews (JSONC)" text={attachPreviewsJsonc(selfName)} />
        <Snippet id="previews-toml" label="Previews (TOML)" text={attachToml(selfName, "previews.tail_consumers")} />
      </Panel>,
      <Panel id="frameworks" title="By framework">
        {FRAMEWORKS.map(({ name, words, snippet }, i) => (
          <details>
            <summary>{name}</summary>
            <p>{coded(words)}</p>
            {snippet !== undefined && (
              <Snippet id={`framework-${i}`} label={`Tail consumer: ${name}`} text={snippet(selfName)} />
            )}
          </details>
        ))}
      </Panel>,
      upstream !== null && (
        <Panel id="upload" title="Upload">
          <p>
            logship forwards an upload through this API to Cloudflare, and <code>logship: true</code> attaches the
            Worker. Put a Cloudflare token into <code>$TOKEN</code>; logship never forwards tokens of its own.
          </p>
          <Snippet id="upload-curl" label="Upload of a Worker" text={uploadCurl(origin, accountId)} />
        </Panel>
      ),
      runsAt !== null && (
        <Panel id="local" title="Run one locally">
          <p>
            In local development an uploaded Worker runs here on its own origin, and its events ship. In the folder of
            this project:
          </p>
          <Snippet id="local-token" label="Token" text={LOCAL_TOKEN} />
          <Snippet id="local-module" label="Module to upload" text={SHOP_MODULE} />
          <Snippet id="local-curl" label="Upload of a Worker that runs here" text={uploadCurl(origin, accountId)} />
          <p>
            It answers at <a href={runsAt}>{runsAt}</a>: each request is an event; <code>/throw</code> fails.
          </p>
          <p>
            A project of your own: <code>npm run attach -- &lt;folder&gt; --local</code> in a checkout of logship builds
            and runs it here, with its name and its exceptions. In plain <code>wrangler dev</code> its events are listed
            as <code>unnamed</code>.
          </p>
        </Panel>
      ),
      <Panel id="binding" title="Service binding">
        <p>For events that a Worker creates itself, with the same checks as over HTTP.</p>
        <Snippet id="binding-jsonc" label="Service binding (JSONC)" text={bindingJsonc(selfName)} />
        <Snippet id="binding-call" label="Call of the binding" text={BINDING_CALL} />
      </Panel>,
      <Panel id="http" title="HTTP">
        <p>
          From anywhere. Put a token with <code>events:write</code> into <code>$TOKEN</code>. Repeating a request with
          the same <code>Idempotency-Key</code> duplicates nothing.
        </p>
        <Snippet id="http-curl" label="One event over HTTP" text={eventsCurl(origin, accountId)} />
      </Panel>,
    ].filter((part) => part !== false),
  };
}
