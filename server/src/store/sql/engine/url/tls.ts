import { type ConnectionOptions, createSecureContext } from "node:tls"
import { readGivenFile } from "../../../../util/given-file.js"

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

const fileNames: Readonly<Record<string, string>> = {
  ca: "authority's certificate",
  cert: "client's certificate",
  key: "client's key",
}

/**
 * Returns the encryption of a level.
 *
 * @param files Paths of PEM files. Throws a TypeError if one cannot be read or used.
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
    if (path !== undefined) options[name] = readPem(name, path)
  }
  try {
    // Otherwise the first connection would fail, with a code of OpenSSL that names no parameter.
    createSecureContext(options)
  } catch (cause) {
    throw new TypeError("the client's certificate and key cannot be used: they must be PEM, and belong together", {
      cause,
    })
  }
  return { level, options }
}

function readPem(name: string, path: string): string {
  let text: string
  try {
    text = readGivenFile(path).toString()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new TypeError(`the file of the ${fileNames[name]} cannot be read (${code ?? message})`, { cause: error })
  }
  // Node would ignore an authority that is not PEM.
  if (!text.includes("-----BEGIN ")) throw new TypeError(`the file of the ${fileNames[name]} is not PEM`)
  return text
}
