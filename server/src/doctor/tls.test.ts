import {
  type CertificateFolder,
  certificateFolder,
  serverCertificate,
} from "@authwire/test-support/processes/certificates.js"
import { afterEach, expect, test } from "@jest/globals"
import { diagnoseTls, type Listeners } from "./tls.js"

const dayMs = 86_400_000

let files: CertificateFolder
let remove = () => {}
afterEach(() => {
  remove()
  remove = () => {}
})

const diagnosed = () => linesOf({ files: { cert: files.certFile, key: files.keyFile, clientCa: undefined }, ...open })
const open = { addresses: [{ host: "::", port: 50051 }], insecureBehindProxy: false }
const linesOf = (listeners: Listeners) =>
  diagnoseTls(listeners, Date.now()).map(({ state, what, detail }) => `${state} ${what}: ${detail}`)

test("an expired certificate is reported, and one that expires soon", () => {
  const from = Date.now() - 9 * dayMs
  files = certificateFolder(serverCertificate({ from, to: Date.now() - dayMs }))
  remove = files.remove
  expect(diagnosed()).toContainEqual(expect.stringMatching(/^wrong TLS certificate: the certificate has expired: /))
  files.write(serverCertificate({ from, to: Date.now() + 3.5 * dayMs }))
  expect(diagnosed()).toEqual([
    expect.stringMatching(/^warning TLS certificate: the certificate expires in 3 days: /),
    expect.stringMatching(/^ok TLS key: /),
  ])
})

test("a key of another certificate is reported", () => {
  files = certificateFolder({ cert: serverCertificate().cert, key: serverCertificate().key })
  remove = files.remove
  expect(diagnosed()).toEqual([expect.stringMatching(/^wrong TLS: \S+: is not the key of the first certificate$/)])
})

test("no TLS is right at loopback addresses and behind a proxy, and wrong where others reach a listener", () => {
  const none = { files: undefined, ...open }
  expect(linesOf({ ...none, addresses: [{ host: "::1", port: 1 }] })).toEqual([
    expect.stringMatching(/^ok TLS: none: /),
  ])
  expect(linesOf({ ...none, insecureBehindProxy: true })).toEqual([expect.stringMatching(/^ok TLS: none, and .*proxy/)])
  expect(linesOf(none)).toEqual([expect.stringMatching(/^wrong TLS: none, and others reach \[::\]:50051, so serve /)])
})
