/**
 * Preloaded into the trainer with `--import`. Ends it when the process that started it is gone, for whatever reason.
 * The IPC channel by itself does not keep the trainer alive.
 */
process.once("disconnect", () => process.exit());
process.channel?.unref();
