import { STORE_TERMS } from "../conf.ts";
import { type DestinationForm, parameter } from "../destination-form.ts";
import { BUCKET, KEYS, STORE_PATH } from "../store/fields.ts";

export const gsForm: DestinationForm = {
  id: "gs",
  group: "store",
  name: "Google Cloud Storage",
  about: "`gs://`, with an HMAC key.",
  start: "gs://",
  terms: STORE_TERMS,
  owns: ({ scheme }) => scheme === "gs",
  parts: [
    BUCKET,
    STORE_PATH,
    {
      name: "endpoint",
      label: "Endpoint",
      hint: "Empty for the global one, or that of a region: `storage.europe-west3.rep.googleapis.com`.",
      at: parameter("endpoint"),
    },
    KEYS,
  ],
};
