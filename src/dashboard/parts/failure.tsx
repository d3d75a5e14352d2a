import type { Child, FC } from "hono/jsx";
import type { ErrorEntry } from "../../errors.ts";
import { InnerFailure } from "../inner-api.ts";
import { Foreign } from "./foreign.tsx";
import { Notice } from "./panel.tsx";

/** What the API refused, in its words. */
export const Errors: FC<{
  title: string;
  errors: readonly ErrorEntry[];
  /** Where on the page it is mended, by its pointer; null: not known. */
  placeOf?: (pointer: string) => string | null;
}> = ({ title, errors, placeOf = () => null }) => (
  <Notice kind="bad" title={title}>
    <ul>
      {errors.map(({ message, source }) => (
        <li>
          <Foreign text={message} />
          {source !== undefined && source.pointer !== "" && (
            <>
              {" "}
              <Pointer pointer={source.pointer} place={placeOf(source.pointer)} />
            </>
          )}
        </li>
      ))}
    </ul>
  </Notice>
);

const Pointer: FC<{ pointer: string; place: string | null }> = ({ pointer, place }) =>
  place === null ? (
    <code class="quiet">{pointer}</code>
  ) : (
    <a href={place}>
      <code>{pointer}</code>
    </a>
  );

/** In place of a part that could not be made. Of anything but an answer of the API nothing is said: its words may be anything. */
export function failedPart(error: unknown): Child {
  if (error instanceof InnerFailure) return <Errors title="This part cannot be shown" errors={error.errors} />;
  return (
    <Notice kind="bad" title="This part cannot be shown">
      <p>Something behind it does not answer at the moment. Reload the page in a few seconds.</p>
    </Notice>
  );
}
