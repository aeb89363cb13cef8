import { createSocket } from "node:dgram"
import { isIPv4 } from "node:net"

/** A DNS server on loopback. */
export interface NameServer {
  /** Its address and port, as in `dns.setServers`. */
  readonly address: string
  /** The questions so far, such as `a.test A`, in their order. */
  readonly questions: readonly string[]
  close(): void
}

/**
 * Starts a DNS server that answers questions of A and AAAA.
 *
 * @param addressesOf Returns the addresses of a name, of which those of the asked type are sent; undefined for no answer
 * at all. No address means that there is no such name.
 */
export async function nameServer(
  addressesOf: (name: string, type: "A" | "AAAA") => readonly string[] | undefined,
): Promise<NameServer> {
  const socket = createSocket("udp4")
  const questions: string[] = []
  socket.on("message", (message, { port }) => {
    // RFC 1035, section 4: 12 bytes of header, then the labels of the name with their lengths, type and class.
    const labels: string[] = []
    let end = 12
    for (let length = message.readUInt8(end); length > 0; length = message.readUInt8(end)) {
      labels.push(message.toString("latin1", end + 1, end + 1 + length))
      end += 1 + length
    }
    const type = message.readUInt16BE(end + 1) === 28 ? "AAAA" : "A"
    const name = labels.join(".").toLowerCase()
    questions.push(`${name} ${type}`)
    const all = addressesOf(name, type)
    if (all === undefined) return
    const records = all.filter((one) => isIPv4(one) === (type === "A")).map((one) => record(type, one))
    const header = Buffer.alloc(12)
    message.copy(header, 0, 0, 2)
    header.writeUInt16BE(all.length === 0 ? 0x8183 : 0x8180, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([header, message.subarray(12, end + 5), ...records]), port, "127.0.0.1")
  })
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve))
  return { address: `127.0.0.1:${socket.address().port}`, questions, close: () => socket.close() }
}

/** An answer that may not be cached. */
function record(type: "A" | "AAAA", address: string): Buffer {
  const data = type === "A" ? Buffer.from(address.split(".").map(Number)) : bytesOf6(address)
  const head = Buffer.from([0xc0, 12, 0, type === "A" ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length])
  return Buffer.concat([head, data])
}

function bytesOf6(address: string): Buffer {
  // The parser writes IPv4 at the end of an address as two groups.
  const [before = "", after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const [first, last] = [before, after ?? ""].map((part) => part.split(":").filter((group) => group !== "")) as [
    string[],
    string[],
  ]
  const groups = [...first, ...Array(8 - first.length - last.length).fill("0"), ...last]
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex")
}
