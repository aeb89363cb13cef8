import { X509Certificate } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { tlsAdvice } from "../config/rules.js"
import { CertificateError, type CertificateFiles, checkCertificate } from "../transport/tls/certificate.js"
import { type Address, formatAddress, isLoopback } from "../util/address.js"
import type { Diagnosis } from "./finding.js"

const dayMs = 86_400_000
const soonDays = 14

/** How the listeners are configured. */
export interface Listeners {
  files: CertificateFiles | undefined
  /** The addresses of the open ones. */
  addresses: readonly Address[]
  insecureBehindProxy: boolean
}

/** Checks the TLS files in the same way as the listeners, and whether the listeners may do without. */
export function diagnoseTls({ files, addresses, insecureBehindProxy }: Listeners, now: number): Diagnosis[] {
  const what = "TLS"
  if (files === undefined) {
    const open = addresses.filter((address) => !isLoopback(address)).map(formatAddress)
    if (open.length === 0) return [{ state: "ok", what, detail: "none: all listeners have loopback addresses" }]
    const listeners = `none, and others reach ${open.join(", ")}`
    return [
      insecureBehindProxy
        ? { state: "ok", what, detail: `${listeners}: by --insecure-behind-proxy, a proxy in front terminates it` }
        : { state: "wrong", what, detail: `${listeners}, so serve does not start: ${tlsAdvice}` },
    ]
  }
  try {
    checkCertificate(files)
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    return [{ state: "wrong", what, detail: `${files[error.file]}: ${error.message}` }]
  }
  return [diagnoseTimes(new X509Certificate(readFileSync(files.cert)), now), diagnoseMode(files.key)]
}

function diagnoseTimes({ validFrom, validTo }: X509Certificate, now: number): Diagnosis {
  const what = "TLS certificate"
  const days = Math.floor((Date.parse(validTo) - now) / dayMs)
  if (Date.parse(validFrom) > now) {
    return { state: "wrong", what, detail: `the certificate is not valid before ${validFrom}` }
  }
  if (days < 0) return { state: "wrong", what, detail: `the certificate has expired: ${validTo}` }
  if (days < soonDays) return { state: "warning", what, detail: `the certificate expires in ${days} days: ${validTo}` }
  return { state: "ok", what, detail: `the certificate matches its key, and it is valid until ${validTo}` }
}

function diagnoseMode(key: string): Diagnosis {
  const what = "TLS key"
  const mode = statSync(key).mode & 0o777
  const detail = `${key} has the mode ${mode.toString(8).padStart(4, "0")}`
  if ((mode & 0o007) !== 0) return { state: "wrong", what, detail: `${detail}: other users can read it: use chmod 600` }
  return { state: "ok", what, detail }
}
