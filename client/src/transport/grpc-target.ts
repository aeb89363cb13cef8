import { isIP } from "node:net"
import { checkServerIdentity, type PeerCertificate } from "node:tls"
import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js"
import { wrongOption } from "../errors/error.js"
import { grpcAdvice, type Security } from "../errors/tls-error.js"
import { parseHttpUrl, type ServerAddress, serverOf } from "./options.js"

/** The address of the service's gRPC listener, and its TLS settings. */
export interface GrpcTargetOptions {
  /**
   * The URL of the service's gRPC listener: `http://host:port` without TLS, `https://host:port` with TLS, or
   * `dns:///host:port` to distribute the calls over all addresses of the name, with TLS if the option `tls` is set.
   * Only a connection with TLS uses a proxy that the environment names (`grpc_proxy`, `https_proxy`, `http_proxy`, and
   * the exceptions in `no_proxy`). Required.
   *
   * @example "http://127.0.0.1:50051"
   */
  url: string
  /** TLS settings that differ from Node's defaults. Not allowed with `http://`. Default: none. */
  tls?: TlsOptions | undefined
}

/** TLS settings. Certificates and keys are in PEM. */
export interface TlsOptions {
  /** The certificates of the authorities that may sign the service's certificate. Default: those that Node trusts. */
  ca?: string | undefined
  /** The client's certificate, for mTLS. Requires `key`. Default: none. */
  cert?: string | undefined
  /** The private key of `cert`. Requires `cert`. Default: none. */
  key?: string | undefined
  /** The name that the service's certificate must have. Default: the host of `url`. */
  serverName?: string | undefined
}

const schemes = "http://, https:// or dns:///"

export const channelOptions: ChannelOptions = {
  // Responses can be large: a user's picture may be a data URL, and a list may hold many authenticators.
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  // Reconnects quickly after a restart of the service, because sign-ins are waiting.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
  // DNS must not change how calls are retried, and the TXT lookup would be an additional delay.
  "grpc.service_config_disable_resolution": 1,
  // The channelz registry would retain every channel that is not closed, and it counts every call.
  "grpc.enable_channelz": 0,
  "grpc.primary_user_agent": "authwire-client",
}

/** The settings of a channel to the service. */
export interface GrpcTarget {
  readonly target: string
  readonly credentials: ChannelCredentials
  readonly settings: ChannelOptions
  /** Host and port of a `dns:///` URL. All addresses of the host serve calls. */
  readonly spread: { readonly host: string; readonly port: string } | undefined
  /** For the wording of error messages. */
  readonly security: Security
}

/** Converts the options to the settings of a channel. Throws AuthwireError if an option is invalid. */
export function grpcTarget({ url, tls }: GrpcTargetOptions): GrpcTarget {
  const { target, server, secure, settings, spread } = parseUrl(url, tls !== undefined)
  if (tls !== undefined && !secure) throw wrongOption("tls", "needs a url that begins with https:// or dns:///")
  const serverName = tls?.serverName
  const certified = serverName ?? server.host
  return {
    target,
    spread,
    security: { secure, hasCertificate: tls?.cert !== undefined, advice: grpcAdvice },
    credentials: secure ? tlsCredentials(tls ?? {}, certified) : credentials.createInsecure(),
    settings: {
      ...settings,
      // grpc-js uses the proxy that the environment names for every address, also of the loopback. Without TLS the proxy
      // could read the API key and the session tokens.
      ...(!secure && { "grpc.enable_http_proxy": 0 }),
      ...(serverName && { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName }),
      ...(secure && isIP(certified) > 0 && withoutServerName(serverName ?? server.address)),
    } satisfies ChannelOptions,
  }
}

/**
 * Without an override, grpc-js names the host of the address to the server (SNI). That must not be an IP (RFC 6066), and Node warns of
 * it. In its place goes a name that nobody has. The certificate is compared with the IP; see tlsCredentials.
 */
function withoutServerName(authority: string): ChannelOptions {
  return { "grpc.ssl_target_name_override": "ip-address.invalid", "grpc.default_authority": authority }
}

/** Returns the address of the service. */
export function grpcServer({ url }: GrpcTargetOptions): ServerAddress {
  return parseUrl(url, false).server
}

function parseUrl(url: string, hasTls: boolean) {
  const [, name] = typeof url === "string" ? (/^dns:\/\/\/(.*)$/i.exec(url) ?? []) : []
  if (name !== undefined) {
    const [, host, port] = /^([^\s/?#@:]+):(\d{1,5})$/.exec(name) ?? []
    if (host === undefined || port === undefined) throw wrongOption("url", "must be of the form dns:///host:port")
    const settings = { "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) }
    const server = { host, port: Number(port), address: name }
    return { target: `dns:///${name}`, server, secure: hasTls, settings, spread: { host, port } }
  }
  const parsed = parseHttpUrl(url, schemes)
  if (parsed.pathname !== "/") throw wrongOption("url", "must not have a path")
  const server = serverOf(parsed)
  const address = `${parsed.hostname}:${server.port}`
  const secure = parsed.protocol === "https:"
  return { target: `dns:${address}`, server: { ...server, address }, secure, settings: {}, spread: undefined }
}

/** @param certified The name or the IP that the service's certificate must have. */
function tlsCredentials(tls: TlsOptions, certified: string): ChannelCredentials {
  const { ca, cert, key, serverName } = tls
  for (const [name, value] of Object.entries({ ca, cert, key }))
    if (value !== undefined && !(typeof value === "string" && value.includes("-----BEGIN ")))
      throw wrongOption(`tls.${name}`, "must be PEM")
  if ((cert === undefined) !== (key === undefined)) throw wrongOption("tls", "must have both cert and key, or neither")
  if (serverName !== undefined && (typeof serverName !== "string" || serverName === ""))
    throw wrongOption("tls.serverName", "must be a host name")
  try {
    const own = isIP(certified) > 0 && { checkServerIdentity: ipCheck(certified) }
    return credentials.createSsl(pem(ca), pem(key), pem(cert), own || {})
  } catch (cause) {
    throw wrongOption("tls", "must contain valid certificates, and a key that matches cert", cause)
  }
}

const ipCheck = (ip: string) => (_name: string, certificate: PeerCertificate) => checkServerIdentity(ip, certificate)

const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text))
