/** What somebody can do about what a store said, by its code, and where that says nothing, by its status. */
const BY_CODE: Readonly<Record<string, string>> = {
  InvalidAccessKeyId:
    "The store does not know this access key id. Check that it is whole, and that it is of this store.",
  SignatureDoesNotMatch:
    "The secret access key is not the one that belongs to this access key id. Enter both again; a character may be missing.",
  AccessDenied:
    "The store knows the keys, but they may not write here. They need to be allowed to put objects into this bucket and path.",
  AuthorizationHeaderMalformed: "The region is not the one of this bucket.",
  PermanentRedirect: "The bucket is in another region, or behind another endpoint.",
  TemporaryRedirect: "The bucket is in another region, or behind another endpoint.",
  NoSuchBucket: "There is no bucket of this name there. Check its name, the account, and the endpoint.",
  InvalidBucketName: "The store does not take this name for a bucket.",
  RequestTimeTooSkewed: "The store's clock and ours are too far apart. That is the store's to mend.",
  NotImplemented: "The store does not know what was asked of it. Without encryption (sse) it may take the object.",
  SlowDown: "The store takes no more requests at the moment. Try again in a minute.",
};

const REFUSED = "The keys may not write here. They need to be allowed to put objects into this bucket and path.";

/** @param message the API's words for a destination that could not be written to. @returns what to do about it. */
export function adviceOn(message: string): string {
  const [, status = "", code = ""] = /HTTP (\d{3})(?: ([A-Za-z0-9]+))?/.exec(message) ?? [];
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (known !== undefined) return known;
  if (
    message.includes("but the object is not there") ||
    message.includes("the store keeps") ||
    message.includes("does not show")
  )
    return "Something answers there, but it does not keep what it is sent. Check that the endpoint is that of the store itself.";
  if (status === "401" || status === "403") return REFUSED;
  if (status === "404") return "There is nothing of this name there. Check the bucket, the account, and the endpoint.";
  if (status.startsWith("3"))
    return "The store sends elsewhere, which is never followed. The bucket is in another region, or behind another endpoint.";
  if (status.startsWith("5") || status === "429")
    return "The store does not work at the moment. Try again in a minute.";
  if (status.startsWith("4")) return "The store does not take the request. Check region and endpoint.";
  if (message.includes("no answer in time"))
    return "Nothing answered within 20 seconds. Check the endpoint's host name.";
  if (message.includes("connection failed"))
    return "Nothing could be reached there. Check the endpoint's host name, and that it is open to the internet.";
  return "Check what is entered below.";
}

/** Whether a message is of the store, rather than of how the destination is written. */
export function isOfStore(message: string): boolean {
  return message.startsWith("error writing object");
}
