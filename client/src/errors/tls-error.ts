import { Code, ConnectError } from "@connectrpc/connect"

/** The TLS settings of a client, for the wording of its errors. */
export interface Security {
  /** Whether the client uses TLS. */
  readonly secure: boolean
  /** Whether the client has a certificate. */
  readonly hasCertificate: boolean
  readonly advice: Advice
}

interface Advice {
  /** Which address of the service the client must use. */
  readonly address: string
  readonly speakTls: string
  readonly speakNone: string
  readonly trust: string
  readonly name: string
  readonly certificate: string
}

/** The beginning of the message of an error that TLS has certainly caused. */
export const tlsHeading = "TLS: "

export const grpcAdvice: Advice = {
  address: "the option url must be the gRPC address of Authwire (--grpc-addr, port 50051 by default)",
  speakTls: "the option url must begin with https:// (with dns:///, set the option tls)",
  speakNone: "the option url must begin with http:// (with dns:///, omit the option tls)",
  trust: "set the option tls.ca to the certificate of its CA",
  name: "use a host name of the certificate in the option url, or set the option tls.serverName to one",
  certificate: "the options tls.cert and tls.key",
}

export const fetchAdvice: Advice = {
  address:
    "the option url must be the HTTP address of Authwire (--http-addr, port 8080 by default), not the gRPC address",
  speakTls: "the option url must begin with https://",
  speakNone: "the option url must begin with http://",
  trust: "on Node, set NODE_EXTRA_CA_CERTS to a file with the certificate of its CA",
  name: "use a host name of the certificate in the option url",
  certificate: "an option fetch that sends one",
}

/**
 * Explains a failed connection. If TLS is or may be the cause, returns an error whose message names cause and remedy,
 * with the original error as its `cause`. Otherwise returns the original error. The decision uses the text of the
 * message, because grpc-js passes on nothing else.
 */
export function explainTls(error: ConnectError, security: Security): ConnectError {
  if (error.code !== Code.Unavailable || error.details.length > 0) return error
  // Removes the timestamp and the empty resolution note that grpc-js appends.
  const message = error.rawMessage.replace(/( \(\d{4}-[^)]*\))?\.?( Resolution note: ?)?\.?$/, "")
  const fault = faultOf(message, security)
  return fault === undefined ? error : new ConnectError(fault, error.code, error.metadata, undefined, error)
}

function faultOf(message: string, { secure, hasCertificate, advice }: Security): string | undefined {
  // A later disconnection may have any cause.
  const early = /No connection established|fetch failed/.test(message)
  const closed =
    early &&
    /Failed to connect|ECONNRESET|EPIPE|socket hang up|other side closed|disconnected before secure/.test(message)
  if (!secure) {
    // A TLS server responds to plaintext with bytes that are not HTTP, or closes the connection without a response.
    const foreign = early && /NGHTTP2_|Protocol error|Parse Error|Response does not match/.test(message)
    if (!closed && !foreign) return undefined
    const why = `${message}; if the service uses TLS, ${advice.speakTls}; ${advice.address}`
    return closed ? `${why}; or ${turnedAway}` : why
  }
  const certain = (fault: string) => `${tlsHeading}${fault}`
  if (/unable to verify|unable to get (local )?issuer|self[- ]signed certificate/i.test(message))
    return certain(`the service's certificate is not signed by a CA that this client trusts; ${advice.trust}`)
  if (/alert|handshake failure/i.test(message)) return certain(rejectionOf(message, hasCertificate, advice))
  if (/certificate (has expired|is not yet valid)/i.test(message))
    return certain("the service's certificate has expired or is not yet valid; renew it at the service")
  if (/altnames/i.test(message)) return certain(`the service's certificate is for another host name; ${advice.name}`)
  if (/wrong version number|packet length too long|http request/i.test(message))
    return certain(`the service does not use TLS at this address; ${advice.speakNone}`)
  if (/unsupported protocol/i.test(message)) return certain(oldProtocol)
  if (!closed) return undefined
  const why = hasCertificate
    ? `may reject the client's certificate (${advice.certificate}): it must be signed by a CA that the service trusts, and must not have expired`
    : `may require a client certificate: ${advice.certificate}`
  return `${message}; the service ${why}; or ${turnedAway}`
}

const turnedAway =
  "the service has reached its limit of connections (--max-connections), and closes further ones at once"

const oldProtocol =
  "the service supports only TLS versions before 1.2, which are insecure; enable TLS 1.2 or later at the service"

/** Returns the message for the TLS alert with which the service ended the handshake (RFC 8446, section 6.2). */
function rejectionOf(message: string, hasCertificate: boolean, advice: Advice): string {
  if (/protocol version/i.test(message)) return oldProtocol
  if (/no application protocol/i.test(message))
    return `the server at this address does not support HTTP/2; ${advice.address}`
  if (hasCertificate) return `the service rejects the client's certificate; check ${advice.certificate}`
  return `the service requires a client certificate; set ${advice.certificate}`
}
