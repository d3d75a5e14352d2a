/** What the API's description says of uploads. */
import * as z from "zod";
import { UploadMetadata } from "../../functions/upload.ts";
import type { RouteDoc } from "../route.ts";

const ships = z.boolean().nullable().optional();

/** What a function that runs here is answered with. With the platform's API behind it, the answer is the platform's own, of the same kind. */
const Script = z
  .looseObject({
    id: z.string().optional().describe("Name of the function."),
    etag: z.string().optional().describe("Of what was uploaded: the same again has the same."),
    has_modules: z.boolean().optional(),
    modified_on: z.iso.datetime().optional().describe("When it was uploaded."),
    logship: ships.describe("Whether its events ship."),
    logpush: ships.describe("The same by the vendor's name, below the vendor's path or where that was sent."),
    tail_consumers: z
      .array(z.looseObject({ service: z.string() }))
      .nullable()
      .optional()
      .describe("As they were sent."),
    url: z.url().optional().describe("Where it runs, in local development."),
  })
  .meta({ id: "Script" });

export const UPLOAD_SCRIPT: RouteDoc = {
  summary: "Upload a function script",
  description: [
    "A part `metadata`, as a field or as a file, and one file part a module, named by its filename, with its media type: `application/javascript+module` for an",
    "ES module. In local development (`npm start`) the function runs at `url`. With the platform's API behind this service (`UPSTREAM_API`), the upload goes on to",
    "the platform with the caller's own bearer, which is none of this service, and the answer is the platform's. With neither, it is 409.",
    "A module that is a file on disk is sent as `--form 'my-worker.js=@my-worker.js;type=application/javascript+module'`.",
  ].join(" "),
  body: {
    "multipart/form-data": z
      .object({ metadata: UploadMetadata })
      .catchall(z.string())
      .describe("Every other part is a module, named by its filename."),
  },
  result: Script,
  errors: [409, 429],
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
};
