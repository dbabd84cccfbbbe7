/**
 * Preloaded into a part of the service (`--import`): ends it when the process that started it is gone, however it went.
 * The channel between the two does not keep a part alive that has nothing else to do.
 */
process.once("disconnect", () => process.exit());
process.channel?.unref();
