/** A received mail, reduced to the data that the mailbox shows. */
export interface Mail {
  to: string[]
  subject: string
  receivedAt: string
  /** The plain text part, decoded. */
  text: string
}

interface Part {
  headers: Map<string, string>
  body: string
}

/** Parses mails of nodemailer: headers, a text part alone or inside multiparts, quoted-printable or base64. */
export function parseMail(source: string, to: string[], receivedAt: Date): Mail {
  const message = splitPart(source)
  return {
    to,
    subject: decodeWords(message.headers.get("subject") ?? ""),
    receivedAt: receivedAt.toISOString(),
    text: plainText(message) ?? "",
  }
}

function splitPart(source: string): Part {
  const end = source.search(/\r?\n\r?\n/)
  const head = (end < 0 ? source : source.slice(0, end)).replace(/\r?\n[ \t]+/g, " ")
  const headers = new Map<string, string>()
  for (const line of head.split(/\r?\n/)) {
    const colon = line.indexOf(":")
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { headers, body: end < 0 ? "" : source.slice(end).replace(/^\r?\n\r?\n/, "") }
}

function plainText(part: Part): string | undefined {
  const type = part.headers.get("content-type") ?? "text/plain"
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1]
  if (boundary) {
    const inner = part.body.split(`--${boundary}`).slice(1, -1)
    return inner.map((piece) => plainText(splitPart(piece.replace(/^\r?\n/, "")))).find((text) => text !== undefined)
  }
  return /^text\/plain/i.test(type) ? decodeBody(part) : undefined
}

function decodeBody({ headers, body }: Part): string {
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase()
  if (encoding === "base64") return Buffer.from(body, "base64").toString("utf8")
  if (encoding === "quoted-printable") return decodeQuoted(body.replace(/[ \t]*=\r?\n/g, ""))
  return Buffer.from(body, "latin1").toString("utf8")
}

/** Decodes encoded words of RFC 2047: `=?UTF-8?Q?…?=` and `=?UTF-8?B?…?=`. */
function decodeWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toLowerCase() === "b"
        ? Buffer.from(text, "base64").toString("utf8")
        : decodeQuoted(text.replaceAll("_", " ")),
    )
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, "latin1").toString("utf8")
}
