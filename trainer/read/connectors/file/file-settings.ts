import type { ConnectorSettings } from "../../../settings.ts";

/** Settings of a File connector for commands that a person runs on files of this machine. */
export const fileSettings = (fileRoots: readonly string[], tempDirectory: string): ConnectorSettings => ({
  fileRoots,
  memoryMb: 1024,
  connectSeconds: 30,
  silenceSeconds: 300,
  timeoutSeconds: 600,
  diskBytesMax: 1e15,
  rowsMax: 1e12,
  tempDirectory,
  bigqueryServiceAccount: null,
  bigqueryBytesBilledMax: 0,
  bigqueryApiEndpoint: null,
  allowPrivateAddresses: false,
  secret: () => undefined,
});
