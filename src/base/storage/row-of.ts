import type { Migration } from "./migrate.ts";

/**
 * A row of a table, as the steps of its schema declare it: a column a line. What a column holds
 * beyond its type (one of some texts, null where it never is) is for those who use it to say.
 */
export type RowOf<Steps extends readonly Migration[], Table extends string> = {
  [Each in Declared<Steps[number]["sql"], Table> as Each[0]]: Each[1];
};

type Declared<Sql, Table extends string> = Made<Sql, Table> | Added<Sql, Table>;

type Made<Sql, Table extends string> = Sql extends `${string}CREATE TABLE ${Table} (${infer Body}) STRICT${string}`
  ? Columns<Body>
  : never;

type Added<Sql, Table extends string> = Sql extends `${string}ALTER TABLE ${Table} ADD COLUMN ${infer Line};${string}`
  ? Column<Line>
  : never;

type Columns<Lines, Found = never> = Lines extends `${infer Line}\n${infer Rest}`
  ? Columns<Rest, Found | Column<Trimmed<Line>>>
  : Found | Column<Trimmed<Lines>>;

/** Never: the line is a comment, or a key of several columns. */
type Column<Line> = Line extends `${infer Code}--${string}`
  ? Column<Code>
  : Line extends `${infer Name} ${infer Type}`
    ? Name extends Lowercase<Name>
      ? [Name, Value<Trimmed<Type>> | Null<Type>]
      : never
    : never;

type Value<Type> = Type extends `INTEGER${string}` ? number : Type extends `TEXT${string}` ? string : ArrayBuffer;

type Null<Type> = Type extends `${string}${"NOT NULL" | "PRIMARY KEY"}${string}` ? never : null;

type Trimmed<Text> = Text extends ` ${infer Rest}` ? Trimmed<Rest> : Text;
