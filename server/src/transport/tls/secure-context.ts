import { constants } from "node:crypto"
import type { SecureContextOptions } from "node:tls"

// The TLS 1.2 suites have forward secrecy and are AEADs. HTTP/2 forbids all others (RFC 9113, section 9.2.2).
const ciphers = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":")

/** Returns the options of a listener: TLS 1.2 and 1.3. `ca` verifies the certificates of clients. */
export function secureContextOptions(pem: { cert: string; key: string; ca: string | undefined }): SecureContextOptions {
  // A resumed session would not verify the client's certificate again, which may have expired since.
  const tickets = pem.ca === undefined ? 0 : constants.SSL_OP_NO_TICKET
  return {
    cert: pem.cert,
    key: pem.key,
    ...(pem.ca !== undefined && { ca: pem.ca }),
    minVersion: "TLSv1.2",
    ciphers,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | tickets,
  }
}
