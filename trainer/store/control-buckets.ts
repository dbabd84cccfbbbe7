import { BUCKETS, type BucketRange } from "../../shared/experiment/buckets.ts";

/** More users in the compared arm cost a row each, and hardly narrow the interval. */
const CONTROL_TIMES = 4;

/** The buckets of a share of the users, and those of the users whom they are compared with. */
export function bucketsBeside(share: number): {
  readonly own: BucketRange[];
  readonly control: BucketRange[];
  readonly controlShare: number;
} {
  const controlShare = Math.min(1 - share, CONTROL_TIMES * share);
  const [ofControl, ofOwn] = [Math.round(controlShare * BUCKETS), Math.round(share * BUCKETS)];
  return { control: [[0, ofControl]], own: [[ofControl, ofControl + ofOwn]], controlShare };
}
