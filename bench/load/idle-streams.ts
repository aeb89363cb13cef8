// Clients of the pipeline that do nothing: opens streams, waits until the service has answered each, says so and stays.
//
//   fork("load/idle-streams.ts", [url of the gRPC listener, number of connections, number of streams])
//
// On node:http2 alone: a channel of grpc-js for each connection would cost more than what is measured.

import { once } from "node:events"
import { type ClientHttp2Session, connect } from "node:http2"
import { apiKey } from "../servers/key.ts"

const [url = "", connections = "1", streams = "1"] = process.argv.slice(2)
const perConnection = Number(streams) / Number(connections)

async function open(): Promise<ClientHttp2Session> {
  const session = connect(url)
  await once(session, "connect")
  const answered = Array.from({ length: perConnection }, async () => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/authwire.v1.PipelineService/Pipeline",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${apiKey}`,
    })
    const [headers] = await once(stream, "response")
    if (headers["grpc-status"] !== undefined) throw new Error(`the stream ended: ${headers["grpc-message"]}`)
    await once(stream, "data")
    stream.resume()
  })
  await Promise.all(answered)
  return session
}

// A few at a time: a queue of connections that nobody took yet has an end.
for (let opened = 0; opened < Number(connections); opened += 100) {
  await Promise.all(Array.from({ length: Math.min(100, Number(connections) - opened) }, open))
}
process.send?.("open")
process.on("disconnect", () => process.exit())
