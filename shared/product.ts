/** The release that edge and trainer are of. package.json has the same, which a test compares. */
export const PRODUCT_VERSION = "0.1.0";
