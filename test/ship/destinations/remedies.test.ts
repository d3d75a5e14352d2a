import { describe, expect, it } from "vitest";
import { answerIn, remedyFor } from "../../../src/ship/destinations/remedies.ts";

/** Parts of the advice, and the answers of stores and receivers that each of them is about. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  // Keys.
  "does not know this access key ID": ["HTTP 403 InvalidAccessKeyId", "HTTP 404 XAdminUserNotFound"],
  "does not match the access key ID": ["HTTP 403 SignatureDoesNotMatch"],
  "or its secret is wrong": ["HTTP 403 AccessDenied", "HTTP 403"],
  "does not recognise the key": ["HTTP 401 Unauthorized"],
  "key and secret are complete": ["HTTP 400 InvalidArgument"],
  "temporary one or has expired": ["HTTP 400 ExpiredToken", "HTTP 403 InvalidToken"],
  clock: ["HTTP 403 RequestTimeTooSkewed", "HTTP 403 RequestExpired"],
  "closed the account": ["HTTP 403 AccountProblem", "HTTP 403 UserSuspended", "HTTP 402"],
  // Where.
  "bucket is in another region": ["HTTP 400 AuthorizationHeaderMalformed"],
  "says that it is eu-west-1": [
    "HTTP 400 AuthorizationHeaderMalformed (region eu-west-1)",
    "HTTP 301 PermanentRedirect (region eu-west-1)",
  ],
  "in another region or behind another endpoint": [
    "HTTP 301 PermanentRedirect",
    "HTTP 307 TemporaryRedirect",
    "HTTP 302",
  ],
  "does not know this region": ["HTTP 400 InvalidRegionName"],
  "Add addressing-style=virtual": [
    "HTTP 403 SecondLevelDomainForbidden",
    "HTTP 403 PathStyleDomainForbidden",
    "HTTP 403 InvalidPathAccess",
    "HTTP 403 VirtualHostDomainRequired",
    "HTTP 400 VirtualHostDomainRequired",
  ],
  "no bucket with this name": ["HTTP 404 NoSuchBucket"],
  "cannot find": ["HTTP 404 NoSuchKey"],
  "does not accept this bucket name": ["HTTP 400 InvalidBucketName"],
  "Neither an S3 interface nor a log receiver": ["HTTP 405 MethodNotAllowed", "HTTP 405"],
  proxy: ["HTTP 407", "HTTP 413 Datadog"],
  // Of Google.
  "adds S3 headers": ["HTTP 400 ExcessHeaderValues"],
  "makes requesters pay": ["HTTP 400 UserProjectMissing"],
  "object lock, a retention rule": [
    "HTTP 403 RetentionPolicyNotMet",
    "HTTP 403 ObjectUnderActiveHold",
    "HTTP 403 ObjectLockedByBucketPolicy",
  ],
  "bucket's encryption key": [
    "HTTP 400 CloudKmsDisabledKey",
    "HTTP 400 KMS.DisabledException",
    "HTTP 400 KMS.NotFoundException",
  ],
  "Choose a shorter path": [
    "HTTP 400 KeyTooLong",
    "HTTP 400 InvalidObjectName",
    "HTTP 400 KeyTooLongError",
    "HTTP 400 XMinioInvalidObjectName",
  ],
  // Of R2 through a binding.
  "R2 is not enabled": ["HTTP 403 NotEntitled"],
  metadata: ["HTTP 400 MetadataTooLarge"],
  // What is sent.
  "has sse, leave it out": [
    "HTTP 400 InvalidRequest",
    "HTTP 501 NotImplemented",
    "HTTP 400 InvalidEncryptionAlgorithmError",
  ],
  "Lower max_upload_bytes": ["HTTP 400 EntityTooLarge", "HTTP 413", "HTTP 413 RequestBodyTooLarge"],
  "proxy in front of the store that changes": [
    "HTTP 400 BadDigest",
    "HTTP 400 XAmzContentSHA256Mismatch",
    "HTTP 411 MissingContentLength",
    "HTTP 400 Md5Mismatch",
  ],
  "Check bucket, region and endpoint": ["HTTP 400 SomethingNew"],
  // Room.
  quota: ["HTTP 403 QuotaExceeded", "HTTP 400 XMinioAdminBucketQuotaExceeded"],
  "disks are full": ["HTTP 507 XMinioStorageFull", "HTTP 507"],
  "object lock": ["HTTP 403 ObjectLocked"],
  // Of Azure.
  "The SAS has expired": ["HTTP 403 AuthenticationFailed", "HTTP 401 NoAuthenticationInformation"],
  firewall: ["HTTP 403 AuthorizationFailure", "HTTP 403 AuthorizationSourceIPMismatch"],
  "sp=rcw": ["HTTP 403 AuthorizationPermissionMismatch"],
  "srt=o": ["HTTP 403 AuthorizationResourceTypeMismatch"],
  "ss=b": ["HTTP 403 AuthorizationServiceMismatch"],
  "https only": ["HTTP 403 AuthorizationProtocolMismatch"],
  "not overwrite them": ["HTTP 403 UnauthorizedBlobOverwrite"],
  "user delegation SAS": ["HTTP 403 KeyBasedAuthenticationNotPermitted"],
  "is disabled": ["HTTP 403 AccountIsDisabled", "HTTP 409 ContainerDisabled"],
  "being deleted": ["HTTP 409 ContainerBeingDeleted"],
  "no container of this name": ["HTTP 404 ContainerNotFound", "HTTP 404 ResourceNotFound"],
  spelling: ["HTTP 400 InvalidResourceName"],
  "retention rule": ["HTTP 409 BlobImmutableDueToPolicy"],
  "it is busy, or limits": ["HTTP 503 ServerBusy", "HTTP 503 SlowDown", "HTTP 429", "HTTP 503", "HTTP 503 Datadog"],
  // Receivers.
  block_ingestion_until: ["HTTP 260 blocked_ingestion", "HTTP 260"],
  time_sharding_enabled: ["HTTP 400 too_far_behind"],
  ingestion_rate_mb: ["HTTP 429 per_stream_rate_limit"],
  "GRANT INSERT": ["HTTP 403 ACCESS_DENIED"],
  "no such table": ["HTTP 404 UNKNOWN_TABLE"],
  "no such index": ["HTTP 404 index_not_found_exception"],
  "does not fit the mapping": ["HTTP 400 document_parsing_exception", "HTTP 400 mapper_parsing_exception"],
  "failure store": ["HTTP 201 failure_store"],
  "does not fit the columns": [
    "HTTP 500 UNKNOWN_ELEMENT_OF_ENUM",
    "HTTP 400 CANNOT_PARSE_BOOL",
    "HTTP 400 TYPE_MISMATCH",
  ],
  "violates a constraint": ["HTTP 500 VIOLATED_CONSTRAINT"],
  "the statement or one of its settings": ["HTTP 400 SYNTAX_ERROR", "HTTP 404 UNKNOWN_SETTING"],
  "system.errors WHERE code = 691.": ["HTTP 500 Code691", "HTTP 200 Code691"],
  "too busy to insert": ["HTTP 500 TOO_MANY_PARTS", "HTTP 200 MEMORY_LIMIT_EXCEEDED", "HTTP 500 KEEPER_EXCEPTION"],
  "without saying which": ["HTTP 200, but records were rejected", "HTTP 200, but events failed"],
  "Something else answers": [
    "HTTP 200, but not as an OTLP receiver answers",
    "HTTP 200, but not the empty answer of an insert",
    "HTTP 204 Datadog, but not as Datadog answers",
    "HTTP 200 Splunk.9, but not as Splunk says that it took them",
    "HTTP 200, but not what became of each record",
  ],
  "send them to another destination": ["older than the 168 hours that Loki takes"],
  // The moment.
  "itself fails": ["HTTP 500 InternalError"],
  // What the platform's network says instead of an origin.
  "Nothing answers at this endpoint": [
    "HTTP 521",
    "connection failed: nothing listens at this port, or it hung up",
    "connection failed",
  ],
  "certificate is not trusted": [
    "HTTP 525",
    "HTTP 526",
    "connection failed: its certificate is not trusted, has expired or is for another name",
  ],
  "does not speak HTTP": ["HTTP 520", "connection failed: it answers, but no HTTP, or too many headers"],
  "host name is unknown": ["HTTP 530", "connection failed: the host name is unknown"],
  // What receivers answer.
  "header_DD-API-KEY": ["HTTP 401 Datadog"],
  "that of your site": ["HTTP 403 Datadog"],
  "api/v2/logs": ["HTTP 404 Datadog"],
  "license key": ["HTTP 403 NewRelic"],
  "limits requests or bytes": ["HTTP 429 NewRelic"],
  "does not know the token": ["HTTP 403 Splunk.4"],
  "it is disabled": ["HTTP 403 Splunk.1"],
  "Splunk%20<token>": ["HTTP 401 Splunk.2", "HTTP 401 Splunk.3"],
  "changes requests": ["HTTP 400 Splunk.6"],
  "may not write to this index": ["HTTP 400 Splunk.7"],
  "indexer acknowledgement": ["HTTP 400 Splunk.10"],
  "channel=<a GUID>": ["HTTP 400 Splunk.11"],
  logship_id: ["HTTP 400 Splunk.15"],
  "No HTTP Event Collector": ["HTTP 404 Splunk"],
  max_content_length: ["HTTP 413 Splunk"],
  "queues are full": ["HTTP 503 Splunk.9"],
  "code at the end of the address": ["HTTP 401 Sumo"],
  "throttles this account": ["HTTP 429 Sumo"],
  // No answer.
  "speaks plain http": ["connection failed: it speaks http, not https"],
  "Write it with https://": ["connection failed: it speaks https, not http"],
  "No answer in time": ["no answer in time"],
  "does not keep what it accepts": ["HTTP 200, but the object is not there", "the store keeps 3 of 9 bytes"],
};

describe("advice", () => {
  const rows = Object.entries(TABLE).flatMap(([advice, all]) => all.map((said) => [said, advice] as const));
  it.each(rows)("on %s: %s", (said, advice) => {
    for (const message of [
      `error writing object: error uploading: ${said}`,
      `delivery paused: ${said}; records are kept`,
    ])
      expect(remedyFor(message)).toContain(advice);
  });

  it("is a sentence for whatever a store may say, and none of its own names", () => {
    const codes = [
      "",
      " constructor",
      " toString",
      " __proto__",
      " Splunk.constructor",
      " Datadog.7",
      ' <Code attr="x">',
      " (region ../x)",
    ];
    for (let status = 300; status < 600; status++)
      for (const code of codes) {
        const remedy = remedyFor(`HTTP ${status}${code}`);
        expect(remedy).toMatch(/^[A-Z].*\.$/);
        expect(remedy).not.toMatch(/constructor|toString|__|attr|\.\./);
      }
  });

  it("is none where nothing is known", () => {
    for (const message of [null, "", "x", "HTTP 40", "anything that a record says"])
      expect(remedyFor(message)).toBeNull();
  });
});

describe("an answer in a message", () => {
  const none = { code: null, region: null };
  const LONG = ["abcdefghijkl", "abcdefghijkl", "abcdefghijkl"].join("-");
  it.each([
    ["delivery paused: HTTP 403 AccessDenied; secret=hunter2", { ...none, status: 403, code: "AccessDenied" }],
    ["HTTP 403 <Code>", { ...none, status: 403 }],
    ["HTTP 400 KMS.DisabledException.", { ...none, status: 400, code: "KMS.DisabledException" }],
    ["HTTP 404 NoSuchBucket.", { ...none, status: 404, code: "NoSuchBucket" }],
    ["HTTP 301 (region eu-west-1); x", { ...none, status: 301, region: "eu-west-1" }],
    ["HTTP 301 (region RegionOne)", { ...none, status: 301, region: "RegionOne" }],
    [`HTTP 301 (region ${LONG})`, { ...none, status: 301, region: LONG }],
    ["HTTP 301 (region EU<b>)", { ...none, status: 301 }],
    ["HTTP 40", null],
    [null, null],
  ])("is its status, its code and its region alone: %s", (message, answer) =>
    expect(answerIn(message)).toEqual(answer),
  );
});
