/** Random values as they occur in the texts of errors: ids, amounts, addresses, dates, names. */
import type { Random } from "../../soak/random.ts";

const HEX = "0123456789abcdef";
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const NANOID = `${BASE62}_-`;
const BASE64 = `${BASE62}+/`;

/** So many characters of an alphabet. */
export function chars(r: Random, count: number, alphabet = BASE62): string {
  return Array.from({ length: count }, () => alphabet[r.int(0, alphabet.length - 1)]).join("");
}

/** A list of so many. */
export function some<T>(r: Random, least: number, most: number, make: (index: number) => T): T[] {
  return Array.from({ length: r.int(least, most) }, (_, index) => make(index));
}

const padded = (number: number, digits: number): string => String(number).padStart(digits, "0");

export const hex = (r: Random, count: number): string => chars(r, count, HEX);
export const md5 = (r: Random): string => hex(r, 32);
export const sha1 = (r: Random): string => hex(r, 40);
export const sha256 = (r: Random): string => hex(r, 64);
/** Of so many characters, a multiple of 4, of which the last may pad. */
export const base64 = (r: Random, count: number): string =>
  chars(r, count - 2, BASE64) + r.pick(["==", `${chars(r, 1)}=`, chars(r, 2, BASE64)]);

/** Of version 4 or 7. */
export function uuid(r: Random): string {
  const tail = `${r.pick(["8", "9", "a", "b"])}${hex(r, 3)}-${hex(r, 12)}`;
  return r.chance(0.7)
    ? `${hex(r, 8)}-${hex(r, 4)}-4${hex(r, 3)}-${tail}`
    : `019a${hex(r, 4)}-${hex(r, 4)}-7${hex(r, 3)}-${tail}`;
}
export const ulid = (r: Random): string => `01K${chars(r, 23, CROCKFORD)}`;
export const nanoid = (r: Random): string => chars(r, 21, NANOID);
export const ksuid = (r: Random): string => `3${chars(r, 26)}`;
/** As Stripe names its objects: `cus_` and 14 characters, `pi_` and 24. */
export const stripeId = (r: Random, prefix: string, length = 14): string => `${prefix}_${chars(r, length)}`;
export const rayId = (r: Random): string => `${hex(r, 16)}-${r.pick(["FRA", "IAD", "NRT", "GRU", "SIN", "LHR"])}`;

/** The number of an order, in the form of the channel that it came by. */
export function order(r: Random): string {
  return r.pick([
    () => String(r.int(100_000, 9_999_999)),
    () => `#${r.int(1_000, 99_999)}`,
    () => `ORD-2026-${padded(r.int(1, 999_999), 6)}`,
    () => `ord_${nanoid(r)}`,
    () => uuid(r),
    () => ulid(r),
    () => ksuid(r),
  ])();
}

const CUSTOMERS = [
  "ACME Inc.",
  "Müller & Söhne GmbH",
  "株式会社さくら",
  "Łukasz Wiśniewski",
  "O'Brien, Niamh",
  "Нина Петрова",
  "محمد الأحمد",
  "김민수",
  "Ana-María Núñez",
  "Sørensen ApS",
  "Δημήτρης Παπαδόπουλος",
  "Société Générale d'Été",
  "J. Smith 3rd",
  "Việt Nguyễn",
  "Studio 54 B.V.",
];
const PRODUCTS = [
  'T-shirt "Löwe" (M)',
  "USB-C cable 2 m",
  "抹茶ラテ 250ml",
  "Crème brûlée x6",
  "L'Oréal n°5",
  "Чай чёрный №7",
  "Kaffee „Crema“ 1 kg",
  "Desk 120x80cm, oak",
  "Batteries AA (24 pcs)",
  "كتاب الطبخ",
];
const WORDS = "north river amber delta cedar maple pixel orbit lunar coral ember haven quartz willow".split(" ");
const PEOPLE = "ana.silva bob jens.o hiroshi k.nowak lea+shop maria_r niamh tom99 yusuf zoe.w".split(" ");

export const customer = (r: Random): string => r.pick(CUSTOMERS);
export const product = (r: Random): string => r.pick(PRODUCTS);
export const word = (r: Random): string => r.pick(WORDS);
export const email = (r: Random): string =>
  `${r.pick(PEOPLE)}${r.chance(0.5) ? r.int(1, 999) : ""}@${r.pick(["example.com", "mail.example.org", `${word(r)}.example`])}`;
/** A customer or a person, in quotes. */
export const quoted = (r: Random): string => JSON.stringify(r.chance(0.7) ? customer(r) : email(r));

export const ipv4 = (r: Random): string => [r.int(1, 223), r.int(0, 255), r.int(0, 255), r.int(1, 254)].join(".");
export const ipv6 = (r: Random): string =>
  r.chance(0.5)
    ? `2001:db8:${hex(r, 4)}::${hex(r, 2)}`
    : `2a02:${some(r, 7, 7, () => r.int(0, 0xffff).toString(16)).join(":")}`;
export const ip = (r: Random): string => (r.chance(0.6) ? ipv4(r) : ipv6(r));
export const hostPort = (r: Random): string => {
  const host = r.pick([() => ipv4(r), () => `[${ipv6(r)}]`, () => `${word(r)}-${r.int(0, 9)}.internal`])();
  return `${host}:${r.pick([443, 5432, 8080, 9200, 50_051, r.int(1_024, 65_535)])}`;
};

/** An address of this host, with a path with ids and a query of one to four parameters. */
export function url(r: Random, host: string, path: string): string {
  const params = [
    `id=${uuid(r)}`,
    `page=${r.int(1, 90)}`,
    `w=${r.int(1, 40) * 40}&q=${r.int(30, 95)}`,
    `sig=${hex(r, 32)}`,
    `since=${encodeURIComponent(isoTime(r))}`,
    `email=${encodeURIComponent(email(r))}`,
  ];
  const query = r.shuffled(params).slice(0, r.int(1, 4)).join("&");
  return `https://${host}/${path}/${r.pick([hex(r, 12), String(r.int(1, 99_999)), `${word(r)}/${nanoid(r)}`])}?${query}`;
}

/** As a number is shown in the customer's locale. */
export function amount(r: Random): string {
  const [whole, cents, thousands] = [r.int(1, 999), padded(r.int(0, 99), 2), r.int(1, 40)];
  return r.pick([
    `${whole}.${cents} EUR`,
    `€${whole}.${cents}`,
    `${thousands}.${padded(whole, 3)},${cents} €`,
    `$${thousands},${padded(whole, 3)}.${cents}`,
    `JPY ${thousands}${padded(whole, 3)}`,
    `£${whole}`,
    `CHF ${thousands}'${padded(whole, 3)}.${cents}`,
  ]);
}

export const ms = (r: Random): string => `${r.int(3, 30_000)} ms`;
export const duration = (r: Random): string =>
  r.pick([ms(r), `${r.int(1, 99)}.${r.int(0, 9)} s`, `${r.int(1, 59)} min`, `${r.int(1, 9)}m ${r.int(0, 59)}s`]);
export const size = (r: Random): string =>
  r.pick([`${r.int(900, 40_000_000)} bytes`, `${r.int(1, 24)}.${r.int(0, 9)} MB`, `${r.int(2, 900)} KiB`]);

const YEAR_2026_MS = 1_767_225_600_000;
const time = (r: Random): Date => new Date(YEAR_2026_MS + r.int(0, 330 * 86_400_000));
export const isoTime = (r: Random): string => time(r).toISOString();
export const isoDate = (r: Random): string => isoTime(r).slice(0, 10);
export const epochS = (r: Random): number => Math.floor(time(r).getTime() / 1_000);
/** In the form that the sender of the text chose. */
export function date(r: Random): string {
  const at = time(r);
  const [day, month] = [padded(at.getUTCDate(), 2), padded(at.getUTCMonth() + 1, 2)];
  const iso = at.toISOString();
  return r.pick([
    iso,
    iso.replace("Z", "+02:00"),
    iso.slice(0, 10),
    iso.slice(0, 19).replace("T", " "),
    at.toUTCString(),
    `${day}.${month}.2026`,
    `${month}/${day}/2026, ${r.int(1, 12)}:${padded(r.int(0, 59), 2)} PM`,
    String(at.getTime()),
    `${at.toUTCString().slice(0, 3)} ${at.toUTCString().slice(8, 11)} ${day} 2026 ${iso.slice(11, 19)} GMT+0000 (Coordinated Universal Time)`,
  ]);
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** JSON of it; senders that build it from maps have other orders of keys each time. */
export function json(r: Random, value: { [key: string]: Json }): string {
  return JSON.stringify(Object.fromEntries(r.shuffled(Object.entries(value))));
}
