import { ease } from "./ease.ts";
import type { Method } from "./model.ts";
import { popularity } from "./popularity.ts";

/** Every method by its name, cheap ones first. */
export const METHODS: Readonly<Record<string, Method>> = Object.fromEntries(
  [popularity, ease].map((method) => [method.name, method as Method]),
);
