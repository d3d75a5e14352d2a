import { useHydrated } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import type { Answer } from "./use-answer.ts";

/** Disabled before the page's script is loaded and while an answer is awaited; keeps the focus. */
export function AskButton({ isAwaited, ...props }: { isAwaited: boolean } & ComponentProps<"button">) {
  return <button type="button" {...props} disabled={!useHydrated()} aria-disabled={isAwaited} />;
}

export function AnswerOutput({ answer: { text, isFault } }: { answer: Answer }) {
  return <output className={isFault ? "fault" : undefined}>{text}</output>;
}
