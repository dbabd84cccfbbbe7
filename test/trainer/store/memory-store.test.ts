import { memoryStore } from "../../../trainer/store/memory-store.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

objectStoreSuite(async () => memoryStore());
