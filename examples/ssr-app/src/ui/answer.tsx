import { useHydrated } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import type { Answer } from "./use-answer.ts";

/** Not to be used before the page's script is there, nor while an answer is awaited; it keeps the focus then. */
export function AskButton({ isAwaited, ...props }: { isAwaited: boolean } & ComponentProps<"button">) {
  return <button type="button" {...props} disabled={!useHydrated()} aria-disabled={isAwaited} />;
}

export function AnswerOutput({ answer: { text, isFault } }: { answer: Answer }) {
  return <output className={isFault ? "fault" : undefined}>{text}</output>;
}
