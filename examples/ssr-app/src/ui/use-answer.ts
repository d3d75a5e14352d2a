import { useState } from "react";

export interface Answer {
  /** For the visitor; empty as long as nothing was asked, and while an answer is awaited. */
  readonly text: string;
  readonly isAwaited: boolean;
  readonly isFault: boolean;
}

const NONE: Answer = { text: "", isAwaited: false, isFault: false };

/**
 * An answer that is asked for by a button. What is thrown becomes words for the visitor: its own message is none of theirs, and the server has reported it
 * already. Nothing is asked while an answer is awaited.
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
