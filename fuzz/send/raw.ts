import { connect } from "node:net"
import type { RawInput } from "../inputs.ts"
import { type Outcome, patienceMs } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** Sends bytes on a new connection, ends the client's side, and waits until the server has closed the connection. */
export function sendRaw(input: RawInput, ports: Ports): Promise<Outcome> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(ports[input.transport], "127.0.0.1", () => socket.end(input.bytes))
    const timer = setTimeout(() => {
      socket.destroy()
      resolve({ end: "hung" })
    }, patienceMs)
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      const body = Buffer.concat(chunks)
      const status = /^HTTP\/1\.1 (\d{3})/.exec(body.toString("latin1", 0, 20))?.[1]
      resolve(
        status === undefined
          ? { end: "closed" }
          : { end: "answered", status: Number(status), headers: {}, trailers: {}, body },
      )
    })
  })
}
