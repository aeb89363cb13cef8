import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

/** A certificate and its private key, as PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
  /** Its common name. */
  readonly name: string
}

export interface CertificateOptions {
  /** The certificate that signs it. Default: it is self-signed. */
  issuer?: Certificate
  /** Start of its validity, in milliseconds. Default: yesterday. */
  from?: number
  /** End of its validity, in milliseconds. Default: tomorrow. */
  to?: number
  /** Its subjectAltName: `DNS:…`, `URI:…`, `email:…`, `IP:127.0.0.1`. Default: its name as DNS. */
  names?: readonly string[]
}

const dayMs = 86_400_000

/** Creates a certificate. A self-signed one is an authority; one with an issuer is that of a host or a client. */
export function certificate(name: string, options: CertificateOptions = {}): Certificate {
  const { from = Date.now() - dayMs, to = Date.now() + dayMs, names = [`DNS:${name}`], issuer } = options
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const ecdsaWithSha256 = der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  const maySign = issuer === undefined ? [der(0x01, Buffer.from([0xff]))] : []
  const basicConstraints = der(0x30, oid(0x55, 0x1d, 0x13), der(0x04, der(0x30, ...maySign)))
  const altNames = der(0x30, oid(0x55, 0x1d, 0x11), der(0x04, der(0x30, ...names.map(generalName))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    distinguishedName(issuer?.name ?? name),
    der(0x30, time(from), time(to)),
    distinguishedName(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, basicConstraints, altNames)),
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, issuer?.key ?? privateKey))
  const lines = der(0x30, body, ecdsaWithSha256, signature)
    .toString("base64")
    .match(/.{1,64}/g)
    ?.join("\n")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    name,
  }
}

function distinguishedName(commonName: string): Buffer {
  return der(0x30, der(0x31, der(0x30, oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)))))
}

/** The context-specific tags of GeneralName (RFC 5280, section 4.2.1.6). */
function generalName(name: string): Buffer {
  const [, type, value] = /^(email|DNS|URI|IP):(.*)$/s.exec(name) ?? []
  if (type === "IP") return der(0x87, Buffer.from((value as string).split(".").map(Number)))
  return der({ email: 0x81, DNS: 0x82, URI: 0x86 }[type as "DNS"], Buffer.from(value as string))
}

/** Encodes a DER value: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const value = Buffer.concat(content)
  const { length } = value
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes))

const time = (ms: number) => der(0x18, Buffer.from(new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "")))
