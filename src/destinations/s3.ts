import { type DestinationKind, parseEndpoint } from "./destination.ts";

const REGION = /^[a-z0-9-]{1,64}$/;

/** `s3://<bucket>/<path>?region=…[&endpoint=…][&sse=AES256]&access-key-id=…&secret-access-key=…`: any store that speaks S3. */
export const s3: DestinationKind = {
  schemes: ["s3"],
  parameters: ["region", "endpoint", "sse"],
  locate({ parameters }, { allowLoopback }) {
    const region = parameters.get("region");
    if (region === undefined) return { ok: false, why: "region is missing" };
    if (!REGION.test(region)) return { ok: false, why: "region must be 1 to 64 lower-case letters, digits or dashes" };
    const sse = parameters.get("sse") ?? null;
    if (sse !== null && sse !== "AES256") return { ok: false, why: "sse must be AES256" };
    const endpoint = parseEndpoint(
      parameters.get("endpoint") ?? `s3.${region}.amazonaws.com`,
      "endpoint",
      allowLoopback,
    );
    if (!endpoint.ok) return endpoint;
    return { ok: true, value: { endpoint: endpoint.value, region, sse, accountId: null } };
  },
};
