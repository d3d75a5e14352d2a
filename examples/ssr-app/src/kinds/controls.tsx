import { useEffect, useRef, useState } from "react";
import { AnswerOutput, AskButton } from "../ui/answer.tsx";
import { useAnswer } from "../ui/use-answer.ts";

/** A button that calls the shop, and the result. */
export function Ask({ name, question }: { name: string; question: () => Promise<string> }) {
  const [answer, ask] = useAnswer();
  return (
    <>
      <AskButton isAwaited={answer.isAwaited} onClick={() => ask(question)}>
        {name}
      </AskButton>
      <AnswerOutput answer={answer} />
    </>
  );
}

/** A plain link: loads the page alone, as if its address had been typed. */
export function Get({ path }: { path: string }) {
  return (
    <a href={path} rel="nofollow">
      {path}
    </a>
  );
}

export function Watch({ tea }: { tea: string }) {
  const socket = useRef<WebSocket | null>(null);
  const [isWatching, setWatching] = useState(false);
  const [said, say] = useState("");

  function watch(): void {
    const opened = new WebSocket(`${location.origin.replace(/^http/, "ws")}/stock/${tea}`);
    opened.onopen = () => opened.send("how many?");
    opened.onmessage = ({ data }) => say(`${JSON.parse(data).packets} packets`);
    opened.onclose = ({ code }) => {
      setWatching(false);
      say(code === 1000 ? "No longer watched." : "The connection is lost.");
    };
    socket.current = opened;
    setWatching(true);
  }

  useEffect(() => () => socket.current?.close(1000), []);
  return (
    <>
      <AskButton isAwaited={false} onClick={() => (isWatching ? socket.current?.close(1000) : watch())}>
        {isWatching ? "Stop watching" : "Watch the stock"}
      </AskButton>
      <output>{said}</output>
    </>
  );
}

export function BreakBrowser() {
  const [said, say] = useState("");
  return (
    <>
      <AskButton
        isAwaited={false}
        onClick={() => {
          say("Thrown, and reported to the shop.");
          throw new Error("the button gave up");
        }}
      >
        Break the browser
      </AskButton>
      <output>{said}</output>
    </>
  );
}
