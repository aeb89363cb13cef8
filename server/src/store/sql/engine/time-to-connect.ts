/**
 * Returns the driver's timeout for making a connection, in milliseconds. Reading a password has the same timeout of its
 * own, and reports it by the name of the option.
 */
export function timeToConnect({ readPassword }: { readPassword?: unknown }, timeoutMs: number): number {
  return readPassword === undefined ? timeoutMs : 2 * timeoutMs
}
