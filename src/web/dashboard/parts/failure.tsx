import type { Child, FC } from "hono/jsx";
import type { ErrorEntry } from "../../../base/errors.ts";
import { InnerFailure } from "../inner-api.ts";
import { Foreign } from "./foreign.tsx";
import { Notice } from "./panel.tsx";

/** Errors of the API. */
export const Errors: FC<{
  title: string;
  errors: readonly ErrorEntry[];
  /** A link to the control of a pointer; null: none. */
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

/** Replaces a part that failed. Only errors of the API are shown: others may hold anything. */
export function failedPart(error: unknown): Child {
  if (error instanceof InnerFailure) return <Errors title="This part cannot be shown" errors={error.errors} />;
  return (
    <Notice kind="bad" title="This part cannot be shown">
      <p>A component does not answer. Reload the page in a few seconds.</p>
    </Notice>
  );
}
