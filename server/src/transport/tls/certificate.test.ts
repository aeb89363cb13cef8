import { authority, certificateFolder, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { expect, test } from "@jest/globals"
import { checkCertificate } from "./certificate.js"

const { cert, key } = serverCertificate()
const other = serverCertificate()
const incomplete = { file: "cert", message: "must contain complete certificates in PEM" }

test.each<[what: string, pair: { cert: string; key: string }, error: object]>([
  [
    "the key of another certificate",
    { cert, key: other.key },
    { file: "key", message: "is not the key of the first certificate" },
  ],
  ["no certificate in the file", { cert: "nothing", key }, incomplete],
  ["half a certificate", { cert: cert.slice(0, 200), key }, incomplete],
  ["half of a second certificate", { cert: cert + authority.cert.slice(0, 200), key }, incomplete],
  ["a damaged one", { cert: cert.replace(/M/g, "N"), key }, incomplete],
  [
    "no key in the file",
    { cert, key: cert },
    { file: "key", message: "must contain a private key in PEM, without a passphrase" },
  ],
])("%s is rejected", (_, pair, error) => {
  const { certFile, keyFile, remove } = certificateFolder(pair)
  const checking = () => checkCertificate({ cert: certFile, key: keyFile, clientCa: undefined })
  expect(checking).toThrow(expect.objectContaining(error))
  remove()
})
