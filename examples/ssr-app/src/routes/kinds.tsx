import { createFileRoute } from "@tanstack/react-router";
import { GROUPS } from "../kinds/rows.tsx";

export const Route = createFileRoute("/kinds")({
  head: () => ({
    meta: [
      { title: "Every kind of trace event · Tea shop" },
      { name: "description", content: "One control for each kind of trace event, and what its record looks like." },
    ],
  }),
  component: Kinds,
});

function Kinds() {
  return (
    <>
      <h1>Every kind of trace event</h1>
      <p>
        Each control below makes one kind of event happen. Its record is in the bucket soon after. An error page that a
        browser shows makes one more, of tea-shop-browser.
      </p>
      <noscript>The buttons take JavaScript; the links do not.</noscript>
      <table>
        <thead>
          <tr>
            <th scope="col">What happens</th>
            <th scope="col">Its record</th>
            <th scope="col">Try it</th>
          </tr>
        </thead>
        {GROUPS.map(({ name, rows }) => (
          <tbody key={name}>
            <tr>
              <th scope="rowgroup" colSpan={3}>
                {name}
              </th>
            </tr>
            {rows.map(({ kind, record, says, control }) => (
              <tr key={kind}>
                <th scope="row">{kind}</th>
                <td>
                  <strong>{record}</strong> {says}
                </td>
                <td>{control}</td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </>
  );
}
