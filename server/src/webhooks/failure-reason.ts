/** What an error of the connection means to an operator. The text of the error is not used: the receiver may choose it. */
const meanings: Readonly<Record<string, string>> = {
  ENOTFOUND: "the host has no address",
  ENODATA: "the host has no address",
  EAI_AGAIN: "DNS does not answer",
  ETIMEOUT: "DNS does not answer",
  ESERVFAIL: "DNS fails",
  EREFUSED: "DNS refuses to answer",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection ended without an answer",
  EPIPE: "the connection ended without an answer",
  ETIMEDOUT: "the host does not answer",
  ENETUNREACH: "the network is unreachable",
  EHOSTUNREACH: "the host is unreachable",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate of another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate of an unknown authority",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT: "certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate of an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate of an unknown authority",
}

/** Returns why a delivery got no answer, in a few words that contain nothing of what the receiver sent. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const code = (error as { code?: unknown } | undefined)?.code
  if (typeof code !== "string" || !/^[A-Z0-9_]{1,60}$/.test(code)) return "no answer"
  if (code.startsWith("HPE_")) return "not an answer of HTTP"
  if (/^ERR_SSL_|^EPROTO$/.test(code)) return "not a connection of TLS"
  return meanings[code] ?? `failed (${code})`
}
