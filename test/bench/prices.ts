/** List prices in US dollars at the given date, used by the cost bench. */
export const PRICES = {
  asOf: "2026-11-21",
  /** Cloudflare's paid plan, beyond the included volume. */
  platform: {
    perMillionRequests: 0.3,
    perMillionCpuMs: 0.02,
    perMillionReads: 0.36,
    perMillionWrites: 4.5,
    perMillionLogLines: 0.6,
    perGigabyteMonth: 0.015,
    /** Durable Objects: calls, and rows of SQLite. */
    perMillionObjectCalls: 0.15,
    perMillionRowsWritten: 1,
    perMillionRowsRead: 0.001,
  },
  /**
   * BigQuery in the multi-region US (cloud.google.com/bigquery/pricing): on demand, without the first TiB of a month, or by slots of the
   * edition Enterprise without commitment. Reading a query's result through the Storage Read API is free, since it is a temporary table.
   */
  warehouse: { perTebibyteRead: 6.25, perSlotHour: 0.06 },
  /** Per million recommendations, without training and storage, for large and small volumes. */
  hosted: [
    { name: "amazon_personalize_and_its_like", from: 50, to: 140 },
    { name: "google_recommendations_ai", from: 100, to: 270 },
  ],
} as const;
