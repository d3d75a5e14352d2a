import type { FC } from "hono/jsx";

/** The Markdown that descriptions use: `code` and **bold**. */
export const Words: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
      if (part.length > 2 && part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
      return part.startsWith("**") ? <strong>{part.slice(2, -2)}</strong> : part;
    })}
  </>
);

export const Paragraphs: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split("\n\n").map((paragraph) => (
      <p>
        <Words text={paragraph} />
      </p>
    ))}
  </>
);
