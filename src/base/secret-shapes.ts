/** Parts of names under which secrets stand: `client_secret`, `X-Auth-Key`, `Passwort`. */
const NAMES =
  "secret|token|passw(?:or)?[dt]|passphrase|passcode|pwd|kennwort|contrase[nñ]a|mot de passe|senha|密码|密碼|パスワード|пароль|(?:api|auth|access|private|encryption|signing)[-_ ]?key|signature|credential|authorization|challenge|cookie|\\bjwt|\\botp|(?:one-time|verification|authorization|auth|access|security|login|sms|reset|recovery|backup|invite|confirmation)[-_ ]code";

/** What is said of a secret, and a constant's name: they are none. */
const SAID =
  "(?:a|an|the|is|are|was|has|have|had|been|be|to|for|of|in|at|by|from|with|without|not|no|and|or|must|should|may|can|cannot|could|did|does|do|auth|authentication|authorization|tokens?|headers?|scheme|credentials?|password|keys?|requests?|values?|fields?|claims?|types?|aud\\w*|issuer|signatures?|algorithms?|nonce|scopes?|session|users?|length|format|schema|null|undefined|none|empty|required|missing|absent|expected|unexpected|expired|invalid|malformed|wrong|bad|mismatch|unknown|unsupported|revoked|rejected|refused|denied|failed|failure|error|found|match|matched|verified|valid|provided|supplied|set|too|short|long|old|many|characters?|already|used|parse|decode|verify|end|input|string|number|timeout|timed|out|unauthorized|forbidden|allowed|(?-i:[A-Z]+(?:_[A-Z]+)+))(?![^\\s.:!?)])";

/** How each is written; what stands in the first group stays. */
const SHAPES: readonly RegExp[] = [
  new RegExp(
    `(\\b(?:bearer|digest|negotiate|aws4-hmac-sha256|(?:cookie|authorization)\\s?:)\\s+(?:${SAID}[.:!?)]*\\s+){0,12})(?!${SAID})[^\\s"'<>][^"'<>]*`,
    "gi",
  ),
  // Base64 has more than small letters; a basic plan has not.
  /(\b(?:[Bb]asic|BASIC)\s+)(?![a-z]+(?![\w+/=-]))[^\s"'<>][^"'<>]*/g,
  // Behind a blank, all of the clause: a passphrase has several words.
  new RegExp(
    `((?:${NAMES})[\\w-]{0,40}[\\\\"']{0,3}\\s{0,3}(?:[=:：]{1,2}>?|->)(?:\\s+(?:${SAID}[.:!?)]*\\s+){0,12}|)\\\\?\\[?["']?)(?:(?<=")(?:[^"\\\\]|\\\\.)*|(?<=')(?:[^'\\\\]|\\\\.)*|(?<=[\\s：])(?!${SAID})[^\\s"'&,;<>][^"'&,;<>]*|(?<![\\s：])[^\\s"'&,;<>]+)`,
    "gi",
  ),
  new RegExp(`((?:--(?:\\w+-)?(?:${NAMES})\\s+|<(?:${NAMES})[\\w-]{0,40}>))[^\\s<]+`, "gi"),
  /()(?<![A-Za-z0-9])(?:[srp]k[-_](?:live|test|proj|ant|svcacct|admin|or)[-_][\w-]+|sk-[A-Za-z0-9]{16,}|gh[pousr]_\w{8,}|github_pat_\w+|glpat-[\w-]+|xox[abeprs]-[\w-]+|hf_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{16,}|whsec_[\w+/=-]+|shp(?:at|ss|ca|pa)_\w+|dop_v1_\w+|AIza[\w-]{10,}|ya29\.[\w-]+|SG\.[\w-]{10,}|eyJ[\w-]{5,}(?:\.[\w-]*){0,2})/g,
  /(\blogship_(?:token|key)_)[\w-]*/g,
  /()\bA[KS]IA[A-Z0-9]{8,}/g,
];

/** Whether there may be any. */
const HINT = new RegExp(
  `${NAMES}|bearer|basic|digest|negotiate|aws4|[srp]k[-_]|gh[pousr]_|_pat_|glpat|xox|hf_|npm_|whsec|shp|dop_|aiza|ya29|sg\\.|eyj|logship_|a[ks]ia`,
  "i",
);

/** A foreign text in which each secret that can be told by its name or its looks is masked. */
export function withoutSecrets(text: string, mask: string): string {
  if (!HINT.test(text)) return text;
  return SHAPES.reduce((known, shape) => known.replace(shape, `$1${mask}`), text);
}
