export interface Tea {
  /** As in addresses. */
  readonly id: string;
  readonly name: string;
  /** Price of a packet. */
  readonly coins: number;
  readonly from: string;
  /** Colour of a cup of it, in CSS. */
  readonly colour: string;
}

export const TEAS: readonly Tea[] = [
  { id: "sencha", name: "Sencha", coins: 7, from: "Uji, Japan", colour: "#8fa33b" },
  { id: "assam", name: "Assam", coins: 5, from: "Jorhat, India", colour: "#a8501f" },
  { id: "oolong", name: "Oolong", coins: 9, from: "Anxi, China", colour: "#c98a2b" },
  { id: "rooibos", name: "Rooibos", coins: 4, from: "Clanwilliam, South Africa", colour: "#b3392c" },
];

export function findTea(id: string): Tea | undefined {
  return TEAS.find((tea) => tea.id === id);
}

export function isTea(id: string): boolean {
  return findTea(id) !== undefined;
}

/** Where the shop delivers. An order to the moon fails each time it is packed. */
export const PLACES: readonly string[] = ["home", "the moon"];

/** Of one order. */
export const PACKETS_MAX = 10;

export function isOrderable(packets: number): boolean {
  return Number.isInteger(packets) && packets >= 1 && packets <= PACKETS_MAX;
}
