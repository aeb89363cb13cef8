import { lookup } from "node:dns/promises"
import { isIPv6 } from "node:net"
import type { ChannelOptions } from "@grpc/grpc-js"
import type { GrpcTarget } from "../transport/grpc-target.js"

/** One endpoint of the service, as a target of grpc-js. */
export interface Endpoint {
  readonly target: string
  readonly settings: ChannelOptions
}

/** Resolves a name to its IP addresses. Rejects if that fails. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** Resolves names as the system does, including its hosts file. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

/**
 * Returns the endpoints of a target. An `http://` or `https://` target has one, whose name grpc-js resolves itself. A `dns:///` target has one for
 * each address of the name, and the certificate of each must be valid for the name.
 */
export async function endpointsOf(
  { target, spread, settings }: GrpcTarget,
  resolve: Resolve,
): Promise<readonly Endpoint[]> {
  if (spread === undefined) return [{ target, settings }]
  const { host, port } = spread
  const authority = settings["grpc.default_authority"] ?? `${host}:${port}`
  const addresses = [...new Set(await resolve(host))]
  return addresses.map((address) => ({
    target: isIPv6(address) ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`,
    settings: { "grpc.ssl_target_name_override": host, ...settings, "grpc.default_authority": authority },
  }))
}
