const NOT_ENCRYPTING =
  "The store refuses a setting of the request. If the destination has sse, leave it out: not every store encrypts on request. Otherwise check its region and endpoint.";
const SKEWED =
  "The store's clock differs from this service's by more than 15 minutes. Correct the store's clock; in local development, this machine's.";
const FULL = "The bucket's quota is used up. Raise it, or delete old objects.";

/**
 * What to change, by the code of a store's refusal, where the code says more than its status does.
 * Stores mean different things by one code; each sentence names what they have been seen to mean.
 */
const REMEDIES: Readonly<Record<string, string>> = {
  // Garage answers so to a wrong secret, where others say SignatureDoesNotMatch.
  AccessDenied:
    "The key may not write there, or its secret is wrong: some stores answer both alike. Allow it to put objects into this bucket and path, or enter key and secret again.",
  InvalidEncryptionAlgorithmError: NOT_ENCRYPTING,
  InvalidRequest: NOT_ENCRYPTING,
  NotImplemented: NOT_ENCRYPTING,
  QuotaExceeded: FULL,
  XMinioAdminBucketQuotaExceeded: FULL,
  RequestTimeTooSkewed: SKEWED,
  RequestExpired: SKEWED,
};

/** null: the code says no more than the status. */
export function remedyFor(code: string | null): string | null {
  return code !== null && Object.hasOwn(REMEDIES, code) ? (REMEDIES[code] ?? null) : null;
}
