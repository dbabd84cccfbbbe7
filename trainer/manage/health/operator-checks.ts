import type { Settings, StoreAccess } from "../../settings.ts";
import { s3Store } from "../../store/s3-store.ts";
import {
  type Check,
  checkBackup,
  checkBucket,
  checkClock,
  checkDisk,
  checkFolders,
  checkHealth,
  checkMemory,
  checkNode,
  checkVersion,
} from "./checks.ts";
import { checkCertificate, checkCredentials, checkEgress, checkKeys } from "./expiry-checks.ts";

/** What a trainer can look at with its own settings: its machine, the bucket, the edge's address. No check writes anything. */
export function operatorChecks(settings: Settings, nowMs: () => number): Check[] {
  const { store, stateDirectory, runs, edgeUrl, backupHours, operator, egressAddresses } = settings;
  return [
    checkVersion,
    checkNode,
    checkMemory(runs.memoryMbMax),
    checkDisk(stateDirectory, runs.diskReserveBytes),
    ...(operator === undefined ? [] : [checkFolders(settings.connectorsOf(operator, "").fileRoots)]),
    ...bucketChecks(store, backupHours, nowMs),
    checkHealth("edge", edgeUrl),
    checkCertificate(edgeUrl, nowMs),
    checkEgress(edgeUrl, egressAddresses),
  ];
}

export const bucketChecks = (access: StoreAccess, backupHours: number, nowMs: () => number): Check[] => [
  checkBucket(access),
  checkClock(access.endpoint, nowMs),
  checkCredentials(access),
  checkBackup(access, backupHours, nowMs),
  checkKeys(s3Store({ ...access, attempts: 1 }), nowMs),
];
