import { type DestinationKind, parseEndpoint } from "./destination.ts";

const ACCOUNT_ID = /^[A-Za-z0-9-]{1,64}$/;

/** `objstore://<bucket>/<path>?account-id=…&access-key-id=…&secret-access-key=…`: the platform's own object storage. */
export const objstore: DestinationKind = {
  schemes: ["objstore", "r2"],
  parameters: ["account-id"],
  locate({ parameters }, { objstoreEndpoint, allowLoopback }) {
    const accountId = parameters.get("account-id");
    if (accountId === undefined) return { ok: false, why: "account-id is missing" };
    if (!ACCOUNT_ID.test(accountId)) return { ok: false, why: "account-id must be 1 to 64 letters, digits or dashes" };
    const endpoint = parseEndpoint(
      objstoreEndpoint.replaceAll("{account-id}", accountId),
      "OBJSTORE_ENDPOINT",
      allowLoopback,
    );
    if (!endpoint.ok) return endpoint;
    return { ok: true, value: { endpoint: endpoint.value, region: "auto", sse: null, accountId } };
  },
};
