import { Code, ConnectError } from "@connectrpc/connect"

/** What a client does about TLS, for the words of its errors. */
export interface Security {
  /** Whether it speaks TLS. */
  readonly secure: boolean
  /** Whether it has a certificate of its own. */
  readonly hasCertificate: boolean
  readonly advice: Advice
}

interface Advice {
  /** Which address of the service is wanted. */
  readonly address: string
  readonly speakTls: string
  readonly speakNone: string
  readonly trust: string
  readonly name: string
  readonly certificate: string
}

/** With what the message of such an error begins, where there is no doubt. */
export const tlsHeading = "TLS: "

export const grpcAdvice: Advice = {
  address: "the option url must be the gRPC address of Authwire (--grpc-addr, port 50051 by default)",
  speakTls: "the option url must begin with https:// (with dns:///, give the option tls)",
  speakNone: "the option url must begin with http:// (with dns:///, leave the option tls out)",
  trust: "give the certificate of its authority in the option tls.ca",
  name: "use a name of the certificate in the option url, or give it in the option tls.serverName",
  certificate: "the options tls.cert and tls.key",
}

export const fetchAdvice: Advice = {
  address:
    "the option url must be the HTTP address of Authwire (--http-addr, port 8080 by default), not the gRPC address",
  speakTls: "the option url must begin with https://",
  speakNone: "the option url must begin with http://",
  trust: "on Node, name a file with the certificate of its authority in NODE_EXTRA_CA_CERTS",
  name: "use a name of the certificate in the option url",
  certificate: "an option fetch that sends one",
}

/**
 * Says of an error that there was no connection what is wrong with the TLS of both sides and what to do, if it is that;
 * the error itself is then the cause. It looks at the words, because there is nothing else: grpc-js hands on only those.
 */
export function explainTls(error: ConnectError, security: Security): ConnectError {
  if (error.code !== Code.Unavailable || error.details.length > 0) return error
  // grpc-js leaves the heading of a note behind that is mostly empty, and the moment.
  const said = error.rawMessage.replace(/( \(\d{4}-[^)]*\))?\.?( Resolution note: ?)?\.?$/, "")
  const fault = faultOf(said, security)
  return fault === undefined ? error : new ConnectError(fault, error.code, error.metadata, undefined, error)
}

function faultOf(said: string, { secure, hasCertificate, advice }: Security): string | undefined {
  // Later it may have been anything.
  const early = /No connection established|fetch failed/.test(said)
  const closed =
    early && /Failed to connect|ECONNRESET|EPIPE|socket hang up|other side closed|disconnected before secure/.test(said)
  if (!secure) {
    // What a server of TLS answers is none of HTTP, or it says nothing and closes.
    const foreign = early && /NGHTTP2_|Protocol error|Parse Error|Response does not match/.test(said)
    if (!closed && !foreign) return undefined
    const why = closed ? `${said}; ${turnedAway}` : said
    return `${why}; ${advice.address}; if the service speaks TLS, ${advice.speakTls}`
  }
  const certain = (fault: string) => `${tlsHeading}${fault}`
  if (/unable to verify|unable to get (local )?issuer|self[- ]signed certificate/i.test(said))
    return certain(`the service's certificate is signed by nobody whom this client trusts; ${advice.trust}`)
  if (/alert|handshake failure/i.test(said)) return certain(rejectionOf(said, hasCertificate, advice))
  if (/certificate (has expired|is not yet valid)/i.test(said))
    return certain("the service's certificate has expired or is not yet valid; it must be renewed at the service")
  if (/altnames/i.test(said)) return certain(`the service's certificate is for another name; ${advice.name}`)
  if (/wrong version number|packet length too long|http request/i.test(said))
    return certain(`the service speaks none at this address; ${advice.speakNone}`)
  if (/unsupported protocol/i.test(said)) return certain(oldProtocol)
  if (!closed) return undefined
  const why = hasCertificate
    ? `may reject the client's certificate (${advice.certificate}): it must be signed by an authority of the service, and not have expired`
    : `may require a certificate of the client: ${advice.certificate}`
  return `${said}; ${turnedAway}; or the service ${why}`
}

const turnedAway = "the connection was closed at once, as the service does when it has too many (--max-connections)"

const oldProtocol = "the service speaks only versions before 1.2, which are not safe; it must be changed there"

/** What the other side says when it ends the handshake (RFC 8446, section 6.2). */
function rejectionOf(said: string, hasCertificate: boolean, advice: Advice): string {
  if (/protocol version/i.test(said)) return oldProtocol
  if (/no application protocol/i.test(said)) return `what listens there does not speak HTTP/2; ${advice.address}`
  if (hasCertificate) return `the service rejects the client's certificate; check ${advice.certificate}`
  return `the service requires a certificate of the client; give ${advice.certificate}`
}
