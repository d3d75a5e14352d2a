/** Hostile texts for every place that takes text: a URL, a log line, a name. */

/** Part of each of these texts. A page that shows such a text shows this. */
export const MARK = "hostile-text";

/** The host that the markup links to, loads from or posts to. No request may go there. */
export const ELSEWHERE = "elsewhere.invalid";

/**
 * Markup that a page must show as text. As markup, each would run something, load something, or
 * make an element of the class {@link MADE}.
 */
const MARKUP = [
  "<script>window.hostileRan='script';alert(1)</script>",
  `"><img class=hostile-made src=x onerror="window.hostileRan='onerror';alert(2)">`,
  `'><svg class='hostile-made' onload="window.hostileRan='onload'"></svg>`,
  `</title></style></textarea></script></noscript><b class="hostile-made">made</b>`,
  `<img class=hostile-made src=//${ELSEWHERE}/pixel.png><link rel=stylesheet href=//${ELSEWHERE}/style.css>`,
  `<meta http-equiv=refresh content="0;url=//${ELSEWHERE}/"><base href="//${ELSEWHERE}/">`,
  `<iframe class=hostile-made srcdoc="<script>parent.hostileRan='frame'</script>"></iframe>`,
  "javascript:window.hostileRan='url' --> ]]> {{7*7}} $\u007b7*7} &lt;b&gt; &#60;i&#62;",
];

/** Elements of this class come only from hostile markup. */
export const MADE = "hostile-made";

/**
 * ESC ] 0 sets a terminal's title and ESC [ 2J clears it. Then characters that change the text's
 * direction, a NUL, and an unpaired surrogate.
 */
const STEERING =
  "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u009b0m \u202egnp.exe\u202c \u2066x\u2069 \u0000 \ufeff \u200b\u2028\u{e0041} \ud800";

/** Without control characters and unpaired surrogates, so that it is a valid name. */
export const NAME = `${MARK} ${MARKUP.slice(0, 2).join(" ")} \u202egnp.exe\u202c \u2066x \u200f`;

/** All of the above in one text. */
export const TEXT = `${MARK} ${MARKUP.join("\n")} ${STEERING}`;

/** {@link TEXT}, continued to 16,000 characters without a place to break the line. */
export const LONG = `${TEXT} ${"W".repeat(16_000 - TEXT.length - 1)}`;

/** Characters that a page must show as codes. */
export const STEERS =
  /(?!\t|\n|\u034f|[\u180b-\u180d]|\u180f|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u;

/**
 * Trace items of every kind, with the hostile text in every text field.
 * @param at in ms since the epoch.
 */
export function hostileEvents(at: number, text: string = TEXT): Record<string, unknown>[] {
  const events: unknown[] = [
    {
      request: { url: `https://shop.example/${text}`, method: text, headers: { "cf-ray": text } },
      response: { status: 500 },
    },
    { request: { url: text, method: "GET" } },
    { cron: text, scheduledTime: at },
    { scheduledTime: at },
    { queue: text, batchSize: 3 },
    { mailFrom: text, rcptTo: text, rawSize: 1234 },
    { rpcMethod: text },
    { getWebSocketEvent: { webSocketEventType: text } },
    { consumedEvents: [{ scriptName: text }] },
    null,
  ];
  return events.map((event, i) => ({
    scriptName: FUNCTION,
    outcome: i === 0 ? "ok" : text,
    eventTimestamp: at + i,
    event,
    dispatchNamespace: text,
    entrypoint: text,
    scriptTags: [text, text],
    scriptVersion: { id: text, tag: text, message: text },
    cpuTime: 9_007_199_254_740_991,
    wallTime: 3,
    exceptions: [{ name: text.slice(0, 2_000), message: text, timestamp: at }],
    logs: [
      { level: text.slice(0, 200), message: [text, { [text.slice(0, 900)]: text.slice(0, 900) }], timestamp: at },
      { level: "error", message: ["\u001b[2J", 1, null], timestamp: at },
    ],
  }));
}

/**
 * A record whose `Event` and `EventType` are not of any known kind.
 * @param at in ms since the epoch.
 */
export function hostileRecord(at: number, text: string = TEXT): Record<string, unknown> {
  return {
    EventType: text,
    Event: { [text.slice(0, 500)]: { __proto__x: text, Request: text, Response: [text] } },
    EventTimestampMs: at,
    ScriptName: FUNCTION,
    Outcome: text,
    Logs: [{ Level: text.slice(0, 100), Message: [text], TimestampMs: 253_402_300_799_999 }],
  };
}

/** A function's name that is valid in a path. */
export const FUNCTION = `"><img class=hostile-made src=x onerror=alert(3)> ${MARK} \u202egnp`;
