import type { Caller } from "./auth.ts";
import type { Bindings } from "./env.ts";
import type { Isolate } from "./isolate.ts";
import type { RequestAccess } from "./reading/request-access.ts";

/** What a request carries through the app. */
export type EdgeEnv = {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    isolate: Isolate;
    access: RequestAccess;
    /** Absent before the key is checked. */
    caller?: Caller;
    /** The call was refused for want of capacity, and is counted in one line of the log with others. */
    isLoggedTogether?: true;
    /** For the log: how a rank call was answered. */
    ranked?: Readonly<Record<string, string | number>>;
  };
};
