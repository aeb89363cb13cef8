/** The most rows whose sizes, or which, one statement of a list reads: two statements find that a page is full. */
export const rowsPerStatement = 51

/** The same for a tenant of large rows. */
export const largeRowsPerStatement = 4

/**
 * Whether a tenant has large rows, as its last page showed. Then few sizes are read at once: MySQL and MariaDB read a text to know its
 * size, 200 MiB for 51 rows of 4 MiB.
 */
export interface LargeRows {
  has(tenant: string): boolean
  /** Records how many rows a page has so far, and whether a further one would exceed its bytes. */
  found(tenant: string, rows: number, isFull: boolean): void
}

/** Callers can create a limited number of tenants only. */
export function largeRows(): LargeRows {
  const tenants = new Set<string>()
  return {
    has: (tenant) => tenants.has(tenant),
    found(tenant, rows, isFull) {
      if (rows > largeRowsPerStatement) tenants.delete(tenant)
      else if (isFull) tenants.add(tenant)
    },
  }
}
