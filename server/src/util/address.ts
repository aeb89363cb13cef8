/** The address of a listener: a host or IP address, and a port (0 picks a free one). */
export interface Address {
  host: string
  port: number
}

/** Formats an address as in a URL: `127.0.0.1:50051`, `[::1]:50051`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns whether an address is reachable only from this machine. */
export function isLoopback({ host }: Pick<Address, "host">): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|::1)$/.test(host)
}
