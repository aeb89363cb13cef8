/** Where a listener listens: a host or IP address, and a port (0 picks a free one). */
export interface Address {
  host: string
  port: number
}

/** An address as it stands in URLs: `127.0.0.1:50051`, `[::1]:50051`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** Whether only this machine reaches an address. */
export function isLoopback({ host }: Pick<Address, "host">): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|::1)$/.test(host)
}
