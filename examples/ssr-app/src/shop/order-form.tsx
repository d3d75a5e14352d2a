import { AnswerOutput, AskButton } from "../ui/answer.tsx";
import { useAnswer } from "../ui/use-answer.ts";
import { placeOrder } from "./functions.ts";
import { PACKETS_MAX, PLACES, type Tea } from "./teas.ts";

export function OrderForm({ tea }: { tea: Tea }) {
  const [answer, ask] = useAnswer();

  async function order(form: FormData): Promise<string> {
    const id = await placeOrder({
      data: { tea: tea.id, packets: Number(form.get("packets")), to: String(form.get("to")) },
    });
    return sayOrder(id);
  }

  return (
    <form
      className="order"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        ask(() => order(form));
      }}
    >
      <label>
        Packets
        <select name="packets">
          {Array.from({ length: PACKETS_MAX }, (_, before) => before + 1).map((packets) => (
            <option key={packets}>{packets}</option>
          ))}
        </select>
      </label>
      <label>
        To
        <select name="to">
          {PLACES.map((place) => (
            <option key={place}>{place}</option>
          ))}
        </select>
      </label>
      <AskButton type="submit" isAwaited={answer.isAwaited}>
        Order
      </AskButton>
      <AnswerOutput answer={answer} />
      <noscript>Ordering takes JavaScript.</noscript>
    </form>
  );
}

/** @param id as `placeOrder` gives it. */
export function sayOrder(id: string | null): string {
  return id === null ? "There is not as much." : `Order ${id} is on its way.`;
}
