import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Certificate, type CertificateOptions, certificate } from "./certificate.js"

export { type Certificate, certificate }

/** The names under which the tests connect to a listener. */
const loopback = ["DNS:localhost", "IP:127.0.0.1"]

/** Certificate authorities: one that both sides trust, and one that is not trusted. */
export const authority = certificate("Authority of the tests")
export const stranger = certificate("Somebody else")

/** A certificate for a listener on loopback. */
export function serverCertificate(options: CertificateOptions & { name?: string } = {}): Certificate {
  return certificate(options.name ?? "authwire", { issuer: authority, names: loopback, ...options })
}

/** A folder of PEM files. `remove` deletes it. */
export interface CertificateFolder {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  /** The flags of `authwire serve` for these files. */
  readonly args: string[]
  /** Overwrites the certificate and the key in place. */
  write(certificate: Pick<Certificate, "cert" | "key">): void
  /** Replaces the pair as Kubernetes does: a new symbolic link to a folder is renamed over the old one. */
  swap(certificate: Pick<Certificate, "cert" | "key">): void
  remove(): void
}

export function certificateFolder(first: Pick<Certificate, "cert" | "key">, clientCa?: string): CertificateFolder {
  const folder = mkdtempSync(join(tmpdir(), "authwire-tls-"))
  const [certFile, keyFile, clientCaFile] = ["tls.crt", "tls.key", "ca.crt"].map((name) =>
    join(folder, "current", name),
  )
  let version = 0
  const swap = ({ cert, key }: Pick<Certificate, "cert" | "key">) => {
    const next = `version-${++version}`
    mkdirSync(join(folder, next))
    writeFileSync(join(folder, next, "tls.crt"), cert)
    writeFileSync(join(folder, next, "tls.key"), key, { mode: 0o600 })
    if (clientCa !== undefined) writeFileSync(join(folder, next, "ca.crt"), clientCa)
    symlinkSync(next, join(folder, "next"))
    renameSync(join(folder, "next"), join(folder, "current"))
  }
  swap(first)
  const files = { certFile, keyFile, clientCaFile } as { certFile: string; keyFile: string; clientCaFile: string }
  return {
    ...files,
    args: [
      `--tls-cert=${certFile}`,
      `--tls-key=${keyFile}`,
      ...(clientCa === undefined ? [] : [`--tls-client-ca=${clientCaFile}`]),
    ],
    write({ cert, key }) {
      writeFileSync(files.certFile, cert)
      writeFileSync(files.keyFile, key)
    },
    swap,
    remove: () => rmSync(folder, { recursive: true }),
  }
}
