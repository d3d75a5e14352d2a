import { BUSY as INSERT_BUSY, MISCONFIGURED, OF_A_ROW } from "./receiver/clickhouse-codes.ts";

/** What a store answered, as a job's error message says it. */
export interface ToldAnswer {
  status: number;
  /** Letters, digits, `_` and dots; null: none. */
  code: string | null;
  /** The region that the store says the bucket is in; null: it says none. */
  region: string | null;
}

/** Of the error of a job or a test, what the store has said. null: the message names no answer. */
export function answerIn(message: string | null): ToldAnswer | null {
  const match =
    /\bHTTP (\d{3})(?: ([A-Za-z0-9_]{1,64}(?:\.[A-Za-z0-9]{1,64})?)\b)?(?: \(region ([A-Za-z0-9_-]{1,64})\))?/.exec(
      message ?? "",
    );
  if (match === null) return null;
  const [, status, code = null, region = null] = match;
  return { status: Number(status), code, region };
}

const RIGHTS =
  "The key may not write there, or its secret is wrong: some stores give the same answer for both. Allow the key to write to this bucket and path, or this address; or enter the secret again.";
const KEY_ID =
  "The store does not know this access key ID. Check that the ID is complete and active, and belongs to this store and account.";
const TEMPORARY =
  "The key is a temporary one or has expired. Use a permanent access key: session tokens are not supported.";
const ELSEWHERE =
  "The destination is in another region or behind another endpoint. Look both up in the store's console; redirects are not followed.";
const REGION = "The bucket is in another region.";
const REGION_NAME =
  "The store does not know this region. Use the region that the store shows for the bucket, spelled the same way; many stores accept auto or us-east-1.";
const VIRTUAL_ONLY =
  "The store wants the bucket in the host name. Add addressing-style=virtual; endpoint stays without the bucket.";
const NO_BUCKET = "There is no bucket with this name. Create it, or check its name, the account and the endpoint.";
const NO_STORE =
  "Neither an S3 interface nor a log receiver answers at this address. Use the endpoint itself, not a public address of the bucket, a console or a proxy.";
const SETTING =
  "The store refuses a setting of the request. If the destination has sse, leave it out: not every store encrypts on request. Otherwise check its region and endpoint.";
const KMS = "The bucket's encryption key cannot be used. Enable it, and allow this access key to use it.";
const SKEWED =
  "The store's clock differs from this service's by more than 15 minutes. Correct the store's clock; in local development, this machine's.";
const QUOTA = "The bucket's quota is used up. Raise it, or delete old objects.";
const FULL = "The store's disks are full. Add space, or delete old objects.";
const UNPAID =
  "The destination has closed the account or the bucket, often for an unpaid bill or a used-up plan. Settle this with the provider.";
const TOO_LARGE =
  "Objects are larger than the destination, or a proxy in front of it, accepts. Lower max_upload_bytes, or raise their limit.";
const LONG_KEY = "The store refuses the key of the object. Choose a shorter path, with plain characters.";
const CHANGED =
  "The store receives other bytes than logship sends. Check for a proxy in front of the store that changes bodies or headers.";
const LOCKED =
  "Objects there may not be changed yet (object lock, a retention rule). Use a path where nothing is locked.";
const HEADERS =
  "Something in front of the store adds S3 headers to Google requests. Check for a proxy, and that the endpoint is Google's own.";
const PAYER = "The bucket makes requesters pay, which needs a project that the key does not have. Switch this off.";
const UNENTITLED = "R2 is not enabled for the account. Subscribe to R2, or bind a bucket of an account that has it.";
const METADATA = "The store refuses the object's metadata. Check for a proxy in front of the store.";
const BUSY =
  "The destination is not available now: it is busy, or limits your requests. Test again in a minute; logship retries.";
const FAULTY = "The destination itself fails. Check its status page; logship retries.";
const DOWN =
  "Nothing answers at this endpoint. Check its host name and port, and that it is reachable from the internet.";
const GARBLED = "The endpoint does not speak HTTP, or sends too many headers. Check it, and any proxy in front of it.";
const UNTRUSTED =
  "The endpoint's certificate is not trusted, has expired or is for another name. It needs a certificate from a public authority. In local development, NODE_EXTRA_CA_CERTS=<file.pem> adds an authority of your own.";
const UNKNOWN_HOST =
  "The endpoint's host name is unknown. Check its spelling, and that public name servers resolve it.";

const BLOCKED =
  "Loki blocks ingestion for this tenant: its operator has set block_ingestion_until. Uploads continue once the block ends.";
const SPREAD =
  "Records arrive faster than Loki's limits allow. Raise ingestion_rate_mb and per_stream_rate_limit, or lower max_upload_bytes; logship retries.";
const ELASTIC_MAPPING =
  "A record does not fit the mapping of the index. Compare it with that in the documentation (dynamic: false), then resend what is on hold.";
const CLICKHOUSE_USER =
  "ClickHouse does not let this user in. Check header_X-ClickHouse-User and header_X-ClickHouse-Key, and the addresses from which the user may connect.";
const CLICKHOUSE_GRANT = "This user may not insert into the table. GRANT INSERT ON <database>.<table> TO <user>.";
const CLICKHOUSE_TABLE = "There is no such table. Create it, or check database and table.";
const CLICKHOUSE_ROW =
  "A row does not fit the columns of the table. Compare their types with those in the documentation.";
const CLICKHOUSE_BUSY =
  "ClickHouse is too busy to insert. Look at its merges, memory, disks, replicas and quotas; logship retries.";
const CLICKHOUSE_STATEMENT =
  "ClickHouse refuses the statement or one of its settings. Check its release, the kind of the table, and the constraints in the user's profile.";

/** One remedy for each of these codes. */
const all = (codes: Readonly<Record<number, string>>, remedy: string): Record<string, string> =>
  Object.fromEntries(Object.values(codes).map((name) => [name, remedy]));

/**
 * What to change, by the code of a store's refusal. Stores mean different things by one code; each
 * sentence names what they have been seen to mean.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
const BY_CODE: Readonly<Record<string, string>> = {
  // Google Cloud Storage, and where its codes differ from S3's.
  // https://docs.cloud.google.com/storage/docs/xml-api/reference-status
  CloudKmsBadKey: KMS,
  CloudKmsDisabledKey: KMS,
  CloudKmsEncryptionKeyNotFound: KMS,
  ExcessHeaderValues: HEADERS,
  KeyTooLong: LONG_KEY,
  ObjectUnderActiveHold: LOCKED,
  RetentionPolicyNotMet: LOCKED,
  UserProjectMissing: PAYER,
  // R2 through a binding. https://developers.cloudflare.com/r2/api/error-codes/
  InvalidObjectName: LONG_KEY,
  MetadataTooLarge: METADATA,
  NotEntitled: UNENTITLED,
  ObjectLockedByBucketPolicy: LOCKED,
  // Loki: loki.ts names them by its own metrics.
  blocked_ingestion: BLOCKED,
  greater_than_max_sample_age:
    "The records are too old for Loki. Raise reject_old_samples_max_age, or set max-age-hours to its value; then resend what is on hold.",
  line_too_long: "A line is longer than Loki accepts. Raise max_line_size there, or ship fewer fields.",
  missing_enforced_labels: "Loki requires labels that are missing. Add them with labels=<name>=<value>.",
  per_stream_rate_limit: SPREAD,
  rate_limited: SPREAD,
  stream_limit: "Loki accepts no more streams. Raise max_global_streams_per_user, or split the job by a filter.",
  too_far_behind:
    "Loki has records of this stream that are more than an hour newer. Set shard_streams.time_sharding_enabled there, or give late records their own label.",
  too_far_in_future: "The time of a record is ahead of Loki's clock. Check the sender's clock.",
  // Elasticsearch and OpenSearch, by the type of an error.
  document_parsing_exception: ELASTIC_MAPPING,
  failure_store:
    "Elasticsearch put the record into the failure store of the data stream (<name>::failures), as it does not fit its mapping or pipeline. Correct these, then resend what is on hold.",
  index_not_found_exception: "There is no such index. Create it, or allow the key to (auto_configure).",
  mapper_parsing_exception: ELASTIC_MAPPING,
  strict_dynamic_mapping_exception: ELASTIC_MAPPING,
  // ClickHouse, by the names of its exceptions.
  ...all(INSERT_BUSY, CLICKHOUSE_BUSY),
  ...all(MISCONFIGURED, CLICKHOUSE_STATEMENT),
  ...all(OF_A_ROW, CLICKHOUSE_ROW),
  ACCESS_DENIED: CLICKHOUSE_GRANT,
  AUTHENTICATION_FAILED: CLICKHOUSE_USER,
  IP_ADDRESS_NOT_ALLOWED: CLICKHOUSE_USER,
  READONLY: CLICKHOUSE_GRANT,
  REQUIRED_PASSWORD: CLICKHOUSE_USER,
  UNKNOWN_DATABASE: CLICKHOUSE_TABLE,
  UNKNOWN_TABLE: CLICKHOUSE_TABLE,
  UNKNOWN_USER: CLICKHOUSE_USER,
  VIOLATED_CONSTRAINT:
    "A row violates a constraint of the table. It is on hold: change the constraint, then resend it.",
  WRONG_PASSWORD: CLICKHOUSE_USER,
  // Stores that speak S3.
  // Garage answers so to a wrong secret, where others say SignatureDoesNotMatch.
  AccessDenied: RIGHTS,
  AccountProblem: UNPAID,
  AllAccessDisabled: UNPAID,
  AuthorizationHeaderMalformed: REGION,
  BadDigest: CHANGED,
  EntityTooLarge: TOO_LARGE,
  ExpiredToken: TEMPORARY,
  IllegalLocationConstraintException: REGION,
  IncompleteBody: CHANGED,
  InsufficientCapacity: FULL,
  InvalidAccessKeyId: KEY_ID,
  // R2 answers so to an access key ID of another length than its own have.
  InvalidArgument:
    "The store refuses a value of the request. Check that key and secret are complete and belong to this store; if the destination has sse, leave it out.",
  InvalidBucketName: "The store does not accept this bucket name. Check its spelling.",
  InvalidDigest: CHANGED,
  InvalidEncryptionAlgorithmError: SETTING,
  InvalidObjectState: LOCKED,
  InvalidPathAccess: VIRTUAL_ONLY,
  InvalidRegion: REGION_NAME,
  InvalidRegionName: REGION_NAME,
  InvalidRequest: SETTING,
  InvalidSecurity: RIGHTS,
  InvalidToken: TEMPORARY,
  "KMS.DisabledException": KMS,
  "KMS.InvalidStateException": KMS,
  "KMS.KMSInvalidStateException": KMS,
  "KMS.NotFoundException": KMS,
  KMSNotConfigured: SETTING,
  KeyTooLongError: LONG_KEY,
  MaxMessageLengthExceeded: TOO_LARGE,
  MethodNotAllowed: NO_STORE,
  MissingContentLength: CHANGED,
  NoSuchBucket: NO_BUCKET,
  NotImplemented: SETTING,
  NotSignedUp: UNPAID,
  ObjectLocked: LOCKED,
  PathStyleDomainForbidden: VIRTUAL_ONLY,
  PermanentRedirect: ELSEWHERE,
  QuotaExceeded: QUOTA,
  Redirect: ELSEWHERE,
  RequestExpired: SKEWED,
  RequestTimeTooSkewed: SKEWED,
  SecondLevelDomainForbidden: VIRTUAL_ONLY,
  SignatureDoesNotMatch:
    "The secret access key does not match the access key ID, or a proxy in front of the store changes requests. Enter both again.",
  SlowDown: BUSY,
  TemporaryRedirect: ELSEWHERE,
  TokenRefreshRequired: TEMPORARY,
  TooManyRequests: BUSY,
  UserSuspended: UNPAID,
  VirtualHostDomainRequired: VIRTUAL_ONLY,
  // Of versitygw, with 404.
  XAdminUserNotFound: KEY_ID,
  XAmzContentSHA256Mismatch: CHANGED,
  XMinioAdminBucketQuotaExceeded: QUOTA,
  XMinioInvalidObjectName: LONG_KEY,
  XMinioStorageFull: FULL,
};

const NO_TOKEN =
  "Splunk does not know the token, or it is disabled. Copy it again, or enable it under HTTP Event Collector.";
const CHANNEL =
  "The token needs a channel, as it uses indexer acknowledgement. Set channel=<a GUID> in the destination, or switch acknowledgement off.";

/**
 * The same of receivers, by the name that is said behind the status, and by its code (`Splunk.4`)
 * or the status.
 */
const BY_RECEIVER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Datadog: {
    401: "The API key is missing. Set it as header_DD-API-KEY.",
    403: "Datadog does not know the API key. Check that it is an API key, not an application key, and that the host is that of your site (datadoghq.com, datadoghq.eu, us3, us5, ap1, …).",
    404: "Datadog accepts no logs at this address. Use http-intake.logs.<your site>/api/v2/logs.",
    413: "The request is larger than this address accepts, but within Datadog's limit. Check for a proxy in front of it.",
  },
  NewRelic: {
    403: "New Relic does not know the key. Use a license key of the account and its region's host: log-api.newrelic.com or log-api.eu.newrelic.com.",
    429: "New Relic limits requests or bytes of this account. logship retries when New Relic allows; ask for a higher limit if this lasts.",
  },
  Splunk: {
    1: NO_TOKEN,
    2: "The token is missing. Set header_Authorization=Splunk%20<token>.",
    3: "Splunk cannot read the token. Set header_Authorization=Splunk%20<token>.",
    4: NO_TOKEN,
    6: "Splunk cannot read the request. Check for a proxy in front of it that changes requests.",
    7: "The token may not write to this index. Allow the index in the token's settings, or set another one as index.",
    10: CHANNEL,
    11: "Splunk cannot read the channel. Set channel=<a GUID> in the destination.",
    14: CHANNEL,
    15: "Splunk does not accept the indexed field logship_id. Allow indexed fields for the token, or use services/collector/raw.",
    21: NO_TOKEN,
    22: NO_TOKEN,
    404: "No HTTP Event Collector answers at this address. Check host and port: 8088, or 443 at http-inputs-<name>.splunkcloud.com.",
    413: "Requests are larger than Splunk accepts. Raise max_content_length of its [http_input], or lower max_upload_bytes.",
    503: "Splunk's queues are full, or it is restarting. logship retries; check Splunk's health if this lasts.",
  },
  Sumo: {
    401: "Sumo Logic does not know the code at the end of the address. Copy the address of the HTTP source again: it changes when it is generated anew.",
    429: "Sumo Logic throttles this account: it sends more than its plan allows. logship retries; raise the quota if it lasts.",
  },
};

const SAS =
  "The SAS has expired, is not valid yet or was changed, or its key was replaced. Create a new one and change destination_conf.";
const SAS_SCOPE =
  "The SAS does not allow this. Create one for blobs (ss=b) and objects (srt=o), or for the container (sr=c), with create, write and read (sp=rcw), and change destination_conf.";
const NETWORK =
  "The storage account's firewall refuses this service, or the SAS is for other addresses (sip). Allow access from all networks, and create the SAS without addresses.";
const NO_CONTAINER = "There is no container of this name. Create it, or check its name and the account.";
const ACCOUNT_OFF = "The storage account or the container is disabled, often for an unpaid bill. Enable it.";

/** Of Azure. https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes */
const BY_AZURE_CODE: Readonly<Record<string, string>> = {
  AccountIsDisabled: ACCOUNT_OFF,
  AuthenticationFailed: SAS,
  AuthorizationFailure: NETWORK,
  AuthorizationPermissionMismatch: SAS_SCOPE,
  AuthorizationProtocolMismatch: "The SAS is for https only (spr). Create one for both protocols, or use https.",
  AuthorizationResourceTypeMismatch: SAS_SCOPE,
  AuthorizationServiceMismatch: SAS_SCOPE,
  AuthorizationSourceIPMismatch: NETWORK,
  BlobImmutableDueToLegalHold: LOCKED,
  BlobImmutableDueToPolicy: LOCKED,
  ContainerBeingDeleted:
    "The container is being deleted. Create it again under this name once it is gone, or use another.",
  ContainerDisabled: ACCOUNT_OFF,
  ContainerNotFound: NO_CONTAINER,
  InsufficientAccountPermissions: ACCOUNT_OFF,
  InvalidAuthenticationInfo: SAS,
  InvalidResourceName: "Azure does not accept the name of the container or the path. Check their spelling.",
  KeyBasedAuthenticationNotPermitted:
    "The storage account forbids its keys, with which this SAS is signed. Create a user delegation SAS, or allow the keys.",
  Md5Mismatch: CHANGED,
  NoAuthenticationInformation: SAS,
  OperationTimedOut: BUSY,
  RequestBodyTooLarge: TOO_LARGE,
  RequestEntityTooLarge: TOO_LARGE,
  ResourceNotFound: NO_CONTAINER,
  ServerBusy: BUSY,
  UnauthorizedBlobOverwrite:
    "The SAS may create blobs but not overwrite them, which this request needs. Create one with write (sp=rcw).",
};

const OF_CODE: Readonly<Record<string, string>> = { ...BY_CODE, ...BY_AZURE_CODE };

/** The same by status, where there is no code or none that says more. */
const BY_STATUS: Readonly<Record<number, string>> = {
  260: BLOCKED,
  401: "The destination does not recognise the key, or its secret is wrong. Enter it again.",
  402: UNPAID,
  403: RIGHTS,
  404: "The destination cannot find what the request names. Check bucket, account and endpoint, or host and path.",
  405: NO_STORE,
  407: "A proxy in front of the store requires its own credentials. Use an endpoint without the proxy.",
  411: CHANGED,
  413: TOO_LARGE,
  414: LONG_KEY,
  429: BUSY,
  501: SETTING,
  503: BUSY,
  507: FULL,
  // What the platform's network says of an origin.
  // https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/
  520: GARBLED,
  521: DOWN,
  522: DOWN,
  523: DOWN,
  524: FAULTY,
  525: UNTRUSTED,
  526: UNTRUSTED,
  530: UNKNOWN_HOST,
};

/** The same by the words of this service. The first match counts. */
const BY_WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /but the object is not there|the store keeps|does not show/,
    "The endpoint does not keep what it accepts. Check that it is the store's own.",
  ],
  [
    /but (?:records were rejected|events failed)/,
    "The log service rejected records without saying which, so all records of the upload are on hold. Its log or dataset may show why.",
  ],
  [/HTTP 2\d\d[\w. -]*, but not /, "Something else answers there, maybe a proxy or a login page. Check host and path."],
  [
    /older than the|further ahead than the/,
    "The log service would drop these records because of their time. They are on hold: send them to another destination.",
  ],
  [/certificate/, UNTRUSTED],
  [/host name/, UNKNOWN_HOST],
  [/it answers, but no HTTP/, GARBLED],
  [/not https/, "The endpoint speaks plain http. Give the store a certificate, or use its https port."],
  [/not http\b/, "The endpoint speaks https. Write it with https://."],
  [/connection failed/, DOWN],
  [/no answer in time/, "No answer in time. Check the endpoint's host name and port, and that it is not overloaded."],
];

/**
 * What to change after a failed write, in sentences; the same on every page and in every finding.
 * @param message of a job or of a test. null: nothing more is known than it says.
 */
export function remedyFor(message: string | null): string | null {
  const answer = answerIn(message);
  if (answer !== null && isRefusal(answer)) return remedyOf(answer);
  return BY_WORDS.find(([words]) => words.test(message ?? ""))?.[1] ?? null;
}

/** Some receivers refuse with what is a success elsewhere. */
function isRefusal({ status, code }: ToldAnswer): boolean {
  const isSuccess = status >= 200 && status < 300;
  const isNamed = own(BY_CODE, code ?? "") ?? ofException(code);
  return !isSuccess || BY_STATUS[status] !== undefined || isNamed !== undefined;
}

/** @param code `Code691`: of an exception of ClickHouse that has no name here. */
function ofException(code: string | null): string | undefined {
  const number = /^Code(\d{1,5})$/.exec(code ?? "")?.[1];
  const query = `SELECT name, last_error_message FROM system.errors WHERE code = ${number}`;
  return number && `ClickHouse refuses the insert. Its server says why: ${query}.`;
}

function remedyOf({ status, code, region }: ToldAnswer): string {
  const known = ofReceiver(status, code) ?? own(OF_CODE, code ?? "") ?? ofException(code);
  const remedy = known ?? BY_STATUS[status] ?? byClass(status);
  return region === null ? remedy : `${remedy} The store says that it is ${region}.`;
}

/** @param code `Splunk.4`, `Datadog`. */
function ofReceiver(status: number, code: string | null): string | undefined {
  const [name = "", number = ""] = (code ?? "").split(".");
  const remedies = own(BY_RECEIVER, name);
  return remedies === undefined ? undefined : (own(remedies, number) ?? own(remedies, `${status}`));
}

function own<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined;
}

function byClass(status: number): string {
  if (status >= 500) return FAULTY;
  return status >= 300 && status < 400
    ? ELSEWHERE
    : "The destination refuses the request. Check bucket, region and endpoint, or host and path.";
}
