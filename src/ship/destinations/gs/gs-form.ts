import { parameter } from "../destination-form.ts";
import { BUCKET, KEYS, STORE_PATH, storeForm } from "../store/fields.ts";

export const gsForm = storeForm("gs", {
  name: "Google Cloud Storage",
  about: "`gs://`, with an HMAC key.",
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
});
