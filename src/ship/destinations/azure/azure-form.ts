import { isLocalHost } from "../../../base/hosts.ts";
import { furtherParameters, type Lens, PATH } from "../destination-form.ts";
import { STORE_PATH, storeForm } from "../store/fields.ts";
import { isPlain } from "./sas.ts";

/**
 * Segments of a path before that of the blobs: the container, behind its account on a local server.
 */
function depthOf(authority: string): number {
  const host = authority.replace(/:\d+$/, "");
  return isLocalHost(host) && !/^[a-z0-9]+\.(?:.+\.)?localhost$/.test(host) ? 2 : 1;
}

/** Host and container. */
const CONTAINER: Lens = {
  claims: [],
  get: ({ authority, path }) =>
    [authority, ...path.split("/").slice(0, depthOf(authority))].join("/").replace(/\/$/, ""),
  set: (parts, text) => {
    const match = /^(?:https?:\/\/)?([^/?#]*)\/([^?#]*?)\/*$/i.exec(text);
    if (match === null) return { ok: false, why: "the container must be its URL, without parameters" };
    const [, authority = "", container = ""] = match;
    const rest = parts.path.split("/").slice(depthOf(parts.authority)).join("/");
    return { ok: true, value: { ...parts, authority, path: `${container}/${rest}` } };
  },
};

/** What is below the container. */
const BELOW: Lens = {
  claims: [],
  get: ({ authority, path }) =>
    PATH.get({ ...EMPTY, path: path.split("/").slice(depthOf(authority)).join("/") }, () => false),
  set: (parts, text) => {
    const below = PATH.set(EMPTY, text, () => false);
    const container = parts.path.split("/").slice(0, depthOf(parts.authority)).join("/");
    return below.ok ? { ok: true, value: { ...parts, path: `${container}/${below.value.path}` } } : below;
  },
};

const EMPTY = { scheme: "azure", authority: "", path: "", query: "" };

const SAS = furtherParameters({ isSecret: (name) => !isPlain(name), hasCode: false });

export const azureForm = storeForm("azure", {
  name: "Azure Blob Storage",
  about: "`azure://`, a container's URL with its SAS.",
  parts: [
    {
      name: "container",
      label: "Container URL",
      hint: "Such as `https://account.blob.core.windows.net/container`.",
      at: CONTAINER,
      missing: "Enter the URL of the container.",
      blamed: /^the (?:container|host|account)\b/,
    },
    { ...STORE_PATH, at: BELOW },
    {
      name: "sas",
      label: "SAS",
      hint: "With create, write and read permission (`sp=rcw`) and an expiry (`se`) years away: uploads stop when it expires. Its signature is stored encrypted, and shown as `****`.",
      // What a portal copies is the whole URL.
      at: { ...SAS, set: (parts, text, isClaimed) => SAS.set(parts, text.replace(/^[^?=&]*\?/, ""), isClaimed) },
      missing: "Enter the SAS.",
      blamed: /^(?:s[a-z]{1,6}|the SAS|a parameter|unknown parameter)\b/,
    },
  ],
});
