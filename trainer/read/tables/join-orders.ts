import { guessOrderColumn } from "../../../shared/guess-columns.ts";
import { identifier } from "../connectors/sql-text.ts";
import { type Asked, findIdColumn, idTextOf } from "./id-column.ts";

/**
 * The lines of orders with the columns of their orders, such as the customer and the day: an expression after FROM, which has each line
 * once. A column that both have is that of the line. Undefined if the lines do not say which order they are of.
 */
export async function joinOrders(lines: Asked, orders: Asked): Promise<string | undefined> {
  const order = guessOrderColumn(lines.columns);
  const id = order === undefined ? undefined : await findIdColumn({ id: order, role: "order" }, lines, orders);
  if (order === undefined || id === undefined) return undefined;
  const taken = lines.columns.map((column) => column.toLowerCase());
  const added = orders.columns.filter((column) => column !== id && !taken.includes(column.toLowerCase()));
  const columns = added.map((column) => `, "order".${identifier(column)}`).join("");
  return `(SELECT line.*${columns} FROM ${lines.name} AS line LEFT JOIN ${orders.name} AS "order"
    ON ${idTextOf(`line.${identifier(order)}`)} = ${idTextOf(`"order".${identifier(id)}`)})`;
}
