/**
 * Verifies a call as a receiver would, with Web Crypto: written from the specification
 * (https://www.standardwebhooks.com), without code of the signer.
 * @returns whether one of its signatures is of this secret.
 */
export async function verify(headers: Headers, body: string, secret: string): Promise<boolean> {
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (char) => char.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const text = [headers.get("webhook-id"), headers.get("webhook-timestamp"), body].join(".");
  for (const each of (headers.get("webhook-signature") ?? "").split(" ")) {
    const [version, base64 = ""] = each.split(",");
    if (version !== "v1") continue;
    const signature = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    if (await crypto.subtle.verify("HMAC", key, signature, new TextEncoder().encode(text))) return true;
  }
  return false;
}
