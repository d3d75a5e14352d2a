import type { FC } from "hono/jsx";

/** Markdown as far as the descriptions use it: code between backquotes, and bold between two asterisks. */
export const Words: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
      if (part.length > 2 && part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
      return part.startsWith("**") ? <strong>{part.slice(2, -2)}</strong> : part;
    })}
  </>
);

/** Its paragraphs. */
export const Paragraphs: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split("\n\n").map((paragraph) => (
      <p>
        <Words text={paragraph} />
      </p>
    ))}
  </>
);
