/**
 * A response that browsers save and never render: its content is untrusted. @param name letters,
 * digits, dots, dashes and underscores.
 */
export function fileOf(
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  name: string,
  mediaType: string,
): Response {
  return new Response(body, {
    headers: {
      "Content-Type": mediaType,
      "Content-Disposition": `attachment; filename="${name}"`,
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    },
  });
}
