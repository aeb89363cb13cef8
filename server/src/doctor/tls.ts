import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { pino } from "pino"
import { CertificateError, type CertificateFiles, watchCertificate } from "../transport/tls/certificate.js"
import type { Diagnosis } from "./finding.js"

const dayMs = 86_400_000
const soonDays = 14

/** Looks at the TLS files as the listeners would. */
export function diagnoseTls(files: CertificateFiles | undefined, now: number): Diagnosis {
  const what = "TLS"
  if (files === undefined) {
    return { state: "ok", what, detail: "no files given: only loopback addresses, or behind a proxy that does TLS" }
  }
  try {
    watchCertificate(files, pino({ level: "silent" })).stop()
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    return { state: "wrong", what, detail: `${files[error.file]}: ${error.message}` }
  }
  const { validFrom, validTo } = new X509Certificate(readFileSync(files.cert))
  const days = Math.floor((Date.parse(validTo) - now) / dayMs)
  if (Date.parse(validFrom) > now)
    return { state: "wrong", what, detail: `the certificate is not valid before ${validFrom}` }
  if (days < 0) return { state: "wrong", what, detail: `the certificate has expired: ${validTo}` }
  if (days < soonDays) return { state: "warning", what, detail: `the certificate expires in ${days} days: ${validTo}` }
  return { state: "ok", what, detail: `the certificate and its key fit, and it is valid until ${validTo}` }
}
