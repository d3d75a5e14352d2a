import { STORE_TERMS } from "../conf.ts";
import { authority, type DestinationForm } from "../form.ts";
import { STORE_PATH } from "../store/fields.ts";

export const bindingForm: DestinationForm = {
  id: "binding",
  group: "store",
  name: "R2 binding",
  about: "`binding://`, an R2 bucket that this Worker is bound to: no keys.",
  start: "binding://",
  terms: STORE_TERMS,
  owns: ({ scheme }) => scheme === "binding",
  parts: [
    {
      name: "binding",
      label: "Binding",
      hint: "Its name in the configuration of this Worker; `DESTINATION_BINDINGS` has to name it.",
      at: authority("the binding"),
      missing: "Enter the name of the binding.",
      initial: ({ bindings = [] }) => bindings[0] ?? "",
      blamed: /\bbinding\b|^DESTINATION_BINDINGS\b/,
    },
    STORE_PATH,
  ],
};
