import {
  type CertificateFolder,
  certificateFolder,
  serverCertificate,
} from "@authwire/test-support/processes/certificates.js"
import { afterEach, expect, test } from "@jest/globals"
import { diagnoseTls } from "./tls.js"

const dayMs = 86_400_000

let files: CertificateFolder
afterEach(() => files.remove())

const diagnosed = () =>
  diagnoseTls({ cert: files.certFile, key: files.keyFile, clientCa: undefined }, Date.now()).map(
    ({ state, what, detail }) => `${state} ${what}: ${detail}`,
  )

test("an expired certificate is reported, and one that expires soon", () => {
  const from = Date.now() - 9 * dayMs
  files = certificateFolder(serverCertificate({ from, to: Date.now() - dayMs }))
  expect(diagnosed()).toContainEqual(expect.stringMatching(/^wrong TLS certificate: the certificate has expired: /))
  files.write(serverCertificate({ from, to: Date.now() + 3.5 * dayMs }))
  expect(diagnosed()).toEqual([
    expect.stringMatching(/^warning TLS certificate: the certificate expires in 3 days: /),
    expect.stringMatching(/^ok TLS key: /),
  ])
})

test("a key of another certificate is reported", () => {
  files = certificateFolder({ cert: serverCertificate().cert, key: serverCertificate().key })
  expect(diagnosed()).toEqual([expect.stringMatching(/^wrong TLS: \S+: is not the key of the first certificate$/)])
})
