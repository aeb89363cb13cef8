import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"

/** How a connection is encrypted. Each level includes the one before it. */
export type TlsLevel =
  | "none"
  /** Encrypted if the server offers it. */
  | "preferred"
  | "encrypted"
  /** A trusted authority has issued the server's certificate. */
  | "authority"
  /** The certificate also names the host. */
  | "identity"

export type TlsOptions = Pick<ConnectionOptions, "rejectUnauthorized" | "checkServerIdentity" | "ca" | "cert" | "key">

/** The encryption of a connection: none, or the options of Node's TLS. */
export interface Tls {
  readonly level: TlsLevel
  readonly options: TlsOptions | undefined
}

/**
 * Returns the encryption of a level.
 *
 * @param files Paths of PEM files. Throws the errors of reading them.
 */
export function tlsOf(
  level: TlsLevel,
  files: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined },
): Tls {
  if (level === "none") return { level, options: undefined }
  const options: TlsOptions = {
    rejectUnauthorized: level === "authority" || level === "identity",
  }
  if (level !== "identity") options.checkServerIdentity = () => undefined
  for (const name of ["ca", "cert", "key"] as const) {
    const path = files[name]
    if (path !== undefined) options[name] = readFileSync(path, "utf8")
  }
  return { level, options }
}
