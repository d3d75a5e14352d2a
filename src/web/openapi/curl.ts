import { quoted } from "../../base/bytes.ts";
import type { RouteExample } from "../api/route.ts";
import type { CodeSample } from "./openapi-types.ts";
import { pathParameter } from "./parameters.ts";

/**
 * An example as a command line for a shell that has BASE_URL, ACCOUNT_ID and TOKEN.
 * @param path in the router's form.
 * @param example must not have a semicolon in a form's text: curl would end the text there.
 */
export function curlSample(
  method: string,
  path: string,
  { name, query, body, mediaType, form = [] }: RouteExample,
): CodeSample {
  const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
  const target = path.replaceAll(/:(\w+)/g, (_, parameter: string) => pathParameter(parameter).example);
  const lines = [
    `curl${method === "GET" ? "" : ` --request ${method}`} "$BASE_URL${target}${search}"`,
    `--header "Authorization: Bearer $TOKEN"`,
  ];
  if (body !== undefined) {
    lines.push(`--header "Content-Type: ${mediaType ?? "application/json"}"`);
    lines.push(`--data-binary ${quoted(typeof body === "string" ? body : JSON.stringify(body))}`);
  }
  for (const part of form) {
    const filename = part.filename === undefined ? "" : `;filename=${part.filename}`;
    lines.push(`--form ${quoted(`${part.name}=${part.text}${filename};type=${part.mediaType}`)}`);
  }
  return { lang: "Shell", label: name, source: lines.join(" \\\n  ") };
}
