import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js"
import { wrongOption } from "../error.js"
import { parseHttpUrl } from "../options.js"
import { grpcAdvice, type Security } from "./tls-error.js"

/** Where the service's gRPC listener is, and how its TLS is checked. */
export interface GrpcTargetOptions {
  /**
   * The service's gRPC listener: `http://host:port` without TLS, `https://host:port` with TLS, or `dns:///host:port` to
   * spread the calls over all addresses of the name, with TLS if the option `tls` is there. Required.
   *
   * @example "http://127.0.0.1:50051"
   */
  url: string
  /** What differs from the TLS that Node does by default. Not with `http://`. Default: nothing. */
  tls?: TlsOptions | undefined
}

/** TLS, in PEM. */
export interface TlsOptions {
  /** The certificates that may sign the service's. Default: those that Node trusts. */
  ca?: string | undefined
  /** The client's certificate, for mTLS; only together with `key`. Default: none. */
  cert?: string | undefined
  /** The private key of `cert`. Default: none. */
  key?: string | undefined
  /** The name that the service's certificate must have. Default: the host of `url`. */
  serverName?: string | undefined
}

const schemes = "http://, https:// or dns:///"

export const channelOptions: ChannelOptions = {
  // A user's picture may be a data URL, and a list holds many authenticators.
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  // Back soon after a restart: a sign-in waits.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
  // Also between calls, or the first call after a silent loss of the connection would wait for its whole deadline.
  "grpc.keepalive_time_ms": 20_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.keepalive_permit_without_calls": 1,
  // DNS must not change how calls are repeated; and its TXT lookup would be one more thing to wait for.
  "grpc.service_config_disable_resolution": 1,
  // Its registry would hold on to every channel that nobody closes, and it counts every call.
  "grpc.enable_channelz": 0,
  "grpc.primary_user_agent": "authwire-client",
}

/** What a channel needs to reach the service. */
export interface GrpcTarget {
  readonly target: string
  readonly credentials: ChannelCredentials
  readonly settings: ChannelOptions
  /** The name and port of a `dns:///` URL, all addresses of which serve. */
  readonly spread: { readonly host: string; readonly port: string } | undefined
  /** For the words of errors. */
  readonly security: Security
}

/** Throws AuthwireError if an option is wrong. */
export function grpcTarget({ url, tls }: GrpcTargetOptions): GrpcTarget {
  const { target, secure, settings, spread } = parseUrl(url, tls !== undefined)
  if (tls !== undefined && !secure) throw wrongOption("tls", "needs a url that begins with https:// or dns:///")
  const serverName = tls?.serverName
  return {
    target,
    spread,
    security: { secure, hasCertificate: tls?.cert !== undefined, advice: grpcAdvice },
    credentials: secure ? tlsCredentials(tls ?? {}) : credentials.createInsecure(),
    settings: {
      ...settings,
      ...(serverName && { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName }),
    } satisfies ChannelOptions,
  }
}

/** Host and port of the service, for error messages. */
export function grpcAddress({ url }: GrpcTargetOptions): string {
  return parseUrl(url, false).address
}

function parseUrl(url: string, hasTls: boolean) {
  const [, name] = typeof url === "string" ? (/^dns:\/\/\/(.*)$/i.exec(url) ?? []) : []
  if (name !== undefined) {
    const [, host, port] = /^([^\s/?#@:]+):(\d{1,5})$/.exec(name) ?? []
    if (host === undefined || port === undefined) throw wrongOption("url", "must be of the form dns:///host:port")
    const settings = { "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) }
    return { target: `dns:///${name}`, address: name, secure: hasTls, settings, spread: { host, port } }
  }
  const { protocol, hostname, port, pathname } = parseHttpUrl(url, schemes)
  if (pathname !== "/") throw wrongOption("url", "must not have a path")
  const secure = protocol === "https:"
  const address = `${hostname}:${port || (secure ? 443 : 80)}`
  return { target: `dns:${address}`, address, secure, settings: {}, spread: undefined }
}

function tlsCredentials(tls: TlsOptions): ChannelCredentials {
  const { ca, cert, key, serverName } = tls
  for (const [name, value] of Object.entries({ ca, cert, key }))
    if (value !== undefined && !(typeof value === "string" && value.includes("-----BEGIN ")))
      throw wrongOption(`tls.${name}`, "must be PEM")
  if ((cert === undefined) !== (key === undefined)) throw wrongOption("tls", "must have cert and key together")
  if (serverName !== undefined && (typeof serverName !== "string" || serverName === ""))
    throw wrongOption("tls.serverName", "must be a host name")
  try {
    return credentials.createSsl(pem(ca), pem(key), pem(cert))
  } catch (cause) {
    throw wrongOption("tls", "must hold certificates and a key that belong together", cause)
  }
}

const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text))
