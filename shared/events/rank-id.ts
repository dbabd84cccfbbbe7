/** The name of a list: the version that made it, a dot, and something random. Attribution reads the version from it. */
export const rankIdOf = (version: string, random: string): string => `${version}.${random}`;
