import * as z from "zod";
import { UploadMetadata } from "../../../state/functions/upload.ts";
import type { RouteDoc } from "../route.ts";

const ships = z.boolean().nullable().optional();

/**
 * The answer in local development. With `UPSTREAM_API` the platform's own answer, of the same kind,
 * is returned.
 */
const Script = z
  .looseObject({
    id: z.string().optional().describe("Name of the Worker."),
    etag: z.string().optional().describe("Hash of the upload."),
    has_modules: z.boolean().optional(),
    modified_on: z.iso.datetime().optional().describe("When it was uploaded."),
    logship: ships.describe("Whether its events ship."),
    logpush: ships.describe("The same under the vendor's name, for requests that use it."),
    tail_consumers: z
      .array(z.looseObject({ service: z.string() }))
      .nullable()
      .optional()
      .describe("As sent."),
    url: z.url().optional().describe("Where it runs, in local development."),
  })
  .meta({ id: "Script" });

export const UPLOAD_SCRIPT = {
  summary: "Upload a function script",
  description: [
    "A part `metadata`, as a field or a file, and one file part per module, named by its filename, with its media type: `application/javascript+module` for an",
    "ES module. In local development (`npm start`) the function runs at `url`. With `UPSTREAM_API` set, the upload goes on to Cloudflare with the caller's own",
    "bearer, which must not be one of this service, and the answer is Cloudflare's. With neither, it is a 409.",
    "To send a file from disk: `--form 'my-worker.js=@my-worker.js;type=application/javascript+module'`.",
  ].join(" "),
  body: {
    "multipart/form-data": z
      .object({ metadata: UploadMetadata })
      .catchall(z.string().meta({ format: "binary", contentMediaType: "application/octet-stream" }))
      .describe("Every other part is a module, named by its filename."),
  },
  result: Script,
  errors: [409],
  examples: [
    {
      name: "A function of one module, whose events ship",
      form: [
        {
          name: "metadata",
          text: '{"main_module":"shop.js","logship":true}',
          mediaType: "application/json",
        },
        {
          name: "shop.js",
          filename: "shop.js",
          text: 'export default { fetch: () => new Response("Welcome") }',
          mediaType: "application/javascript+module",
        },
      ],
    },
  ],
} satisfies RouteDoc;
