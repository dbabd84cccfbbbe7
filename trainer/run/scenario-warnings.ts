import { type ItemColumns, knownNames } from "../../shared/known-names.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { itemFiles } from "../read/dataset/item-files.ts";
import type { ModelRef } from "../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../store/object-store.ts";
import { scenarioProblems } from "../store/scenarios.ts";

/** A warning for each scenario of the model with parts that will not fit a version made from these data. */
export async function scenarioWarnings(
  store: ObjectStore,
  model: ModelRef,
  { dataset, columns }: { readonly dataset: Dataset; readonly columns: ItemColumns },
): Promise<string[]> {
  try {
    const found = await scenarioProblems(store, model, async () => knownNames(itemFiles(dataset, columns)));
    return found.map(({ scenario, problems }) => {
      const name = JSON.stringify(scenario);
      return `The scenario ${name} does not fit these data. Rank calls will leave out: ${problems.join("; ")}.`;
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return ["The scenarios were not checked, because the store of models did not answer."];
  }
}
