import { readIntakeConfig } from "../../../config.ts";
import { localUrl } from "../../../local/runnable.ts";
import type { PageContext, View } from "../../page.ts";
import { Panel, Snippet } from "../../parts/panel.tsx";
import {
  attachCommand,
  attachJsonc,
  attachToml,
  BINDING_CALL,
  bindingJsonc,
  eventsCurl,
  LOCAL_TOKEN,
  SHOP_MODULE,
  uploadCurl,
} from "./snippets.ts";

/** Every way in which a function's events come here, ready to copy. */
export async function attachView({ config, env, origin }: PageContext): Promise<View> {
  const selfName = readIntakeConfig(env).selfName ?? "logship";
  const { accountId, localFunctions, upstream } = config;
  const runsAt = localFunctions === null ? null : localUrl(localFunctions, "shop");
  return {
    title: "Attach a function",
    section: "functions",
    trail: [{ href: "/functions", label: "Functions" }],
    parts: [
      <Panel id="tail" title="By its project file">
        <p>
          Put this into the project file of the function, and deploy it. That is all: existing jobs pick it up with its
          first event.
        </p>
        <Snippet id="tail-jsonc" label="Project file (JSONC)" text={attachJsonc(selfName)} />
        <Snippet id="tail-toml" label="Project file (TOML)" text={attachToml(selfName)} />
        <p>
          In this service's checkout, <code>{attachCommand(selfName)}</code> writes it, for each environment as well:
          they do not inherit it.
        </p>
      </Panel>,
      upstream !== null && (
        <Panel id="upload" title="With its upload">
          <p>
            An upload through this API goes on to the platform, and <code>logship: true</code> attaches the function. It
            needs a token of the platform's in <code>$TOKEN</code>; none of this service's is ever sent on.
          </p>
          <Snippet id="upload-curl" label="Upload of a function" text={uploadCurl(origin, accountId)} />
        </Panel>
      ),
      runsAt !== null && (
        <Panel id="local" title="Run one here">
          <p>
            In local development an uploaded function runs on an origin of its own, and its events ship. One after the
            other, in the folder of this project:
          </p>
          <Snippet id="local-token" label="Token for all that follows" text={LOCAL_TOKEN} />
          <Snippet id="local-module" label="Module to upload" text={SHOP_MODULE} />
          <Snippet id="local-curl" label="Upload of a function that runs here" text={uploadCurl(origin, accountId)} />
          <p>
            It then answers at <a href={runsAt}>{runsAt}</a>: each request is an event, and one for <code>/throw</code>{" "}
            fails.
          </p>
        </Panel>
      ),
      <Panel id="binding" title="By a service binding">
        <p>For events that a function makes itself, with the same checks as over HTTP.</p>
        <Snippet id="binding-jsonc" label="Service binding (JSONC)" text={bindingJsonc(selfName)} />
        <Snippet id="binding-call" label="Call of the binding" text={BINDING_CALL} />
      </Panel>,
      <Panel id="http" title="Over HTTP">
        <p>
          From anywhere, with a token that holds <code>events:write</code> in <code>$TOKEN</code>. The same request sent
          again with the same <code>Idempotency-Key</code> doubles nothing.
        </p>
        <Snippet id="http-curl" label="One event over HTTP" text={eventsCurl(origin, accountId)} />
      </Panel>,
    ].filter((part) => part !== false),
  };
}
