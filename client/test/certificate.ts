import { generateKeyPairSync, sign } from "node:crypto"

/** A self-signed certificate for a host name, valid from yesterday to tomorrow, and its key. In PEM. */
export function certificate(host: string): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const ecdsaWithSha256 = der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  const commonName = der(0x30, oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(host)))
  const name = der(0x30, der(0x31, commonName))
  const day = 86_400_000
  const basicConstraints = der(0x30, oid(0x55, 0x1d, 0x13), der(0x04, der(0x30, der(0x01, Buffer.from([0xff])))))
  const altName = der(0x30, oid(0x55, 0x1d, 0x11), der(0x04, der(0x30, der(0x82, Buffer.from(host)))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, time(Date.now() - day), time(Date.now() + day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, basicConstraints, altName)),
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  const lines = der(0x30, body, ecdsaWithSha256, signature)
    .toString("base64")
    .match(/.{1,64}/g)
    ?.join("\n")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}

/** A value of DER: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const value = Buffer.concat(content)
  const { length } = value
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes))

const time = (ms: number) => der(0x18, Buffer.from(new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "")))
