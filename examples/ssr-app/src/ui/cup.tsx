/** A cup of tea; decorative. */
export function Cup({ colour }: { colour: string }) {
  return (
    <svg className="cup" viewBox="0 0 64 56" aria-hidden="true">
      <path d="M24 12q-4-5 0-10M36 12q-4-5 0-10" className="steam" />
      <path d="M10 18h40v14a16 16 0 0 1-16 16h-8a16 16 0 0 1-16-16z" fill={colour} />
      <path d="M50 22h3a8 8 0 0 1 0 16h-4" className="handle" stroke={colour} />
      <path d="M8 53h44" className="saucer" />
    </svg>
  );
}
