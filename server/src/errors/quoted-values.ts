/** Replaces a message that quotes values. */
export const withheld = "the server's message is left out, because it quotes a value"

/** Errors of MySQL and MariaDB whose message quotes a value, although their state is a general one. */
const numbers = new Set([1300, 1366, 1411, 1525, 1526])

/**
 * Returns whether the message of a driver's error quotes values: data exceptions and violated constraints do, and what
 * triggers raise may.
 */
export function quotesValues(error: object): boolean {
  const { code, errno, errcode, sqlState = code } = error as Record<string, unknown>
  if (typeof sqlState === "string" && /^(22|23|45|P0)...$/.test(sqlState)) return true
  return numbers.has(Number(errno)) || errcode === 1811 // SQLITE_CONSTRAINT_TRIGGER
}
