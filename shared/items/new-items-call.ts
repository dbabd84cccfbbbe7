/** The call by which an edge tells the trainer that it has stored new items, signed like forwarded calls (forward-signature.ts). */
import * as z from "zod";
import { ModelName } from "../model-spec.ts";

export const NEW_ITEMS_PATH = "/edge/new-items";
export const NewItemsBody = z.object({ model_name: ModelName });
