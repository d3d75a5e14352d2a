import { useState } from "react";

export interface Answer {
  /** For the visitor; empty before the first call, and while an answer is awaited. */
  readonly text: string;
  readonly isAwaited: boolean;
  readonly isFault: boolean;
}

const NONE: Answer = { text: "", isAwaited: false, isFault: false };

/**
 * The result of a button. Errors become a message for the visitor: their own text is not shown, and
 * the server has reported them. There is one call at a time.
 */
export function useAnswer(): [Answer, ask: (question: () => Promise<string>) => Promise<void>] {
  const [answer, setAnswer] = useState(NONE);
  async function ask(question: () => Promise<string>): Promise<void> {
    if (answer.isAwaited) return;
    setAnswer({ ...NONE, isAwaited: true });
    try {
      setAnswer({ ...NONE, text: await question() });
    } catch (error) {
      console.error(error);
      setAnswer({ ...NONE, text: "That did not work. Please try again in a moment.", isFault: true });
    }
  }
  return [answer, ask];
}
