import { memoryStore } from "../../../trainer/publish/memory-store.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

objectStoreSuite(async () => memoryStore());
