import { authority } from "../destination-form.ts";
import { STORE_PATH, storeForm } from "../store/fields.ts";

export const bindingForm = storeForm("binding", {
  name: "R2 binding",
  about: "`binding://`, an R2 bucket that is bound to this Worker. Needs no keys.",
  parts: [
    {
      name: "binding",
      label: "Binding",
      hint: "Its name in this Worker's configuration. `DESTINATION_BINDINGS` must list it.",
      at: authority("the binding"),
      missing: "Enter the name of the binding.",
      initial: ({ bindings = [] }) => bindings[0] ?? "",
      blamed: /\bbinding\b|^DESTINATION_BINDINGS\b/,
    },
    STORE_PATH,
  ],
});
