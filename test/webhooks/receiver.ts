import { createServer, type IncomingHttpHeaders } from "node:http"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { Webhook } from "standardwebhooks"

/** What a receiver got. */
export interface Received {
  id: string
  headers: Record<string, string>
  /** The body as it was sent. */
  text: string
  body: { type: string; timestamp: string; data: Record<string, unknown> }
}

interface Answer {
  status: number
  headers?: Record<string, string>
}

/** A receiver of webhooks on loopback. */
export interface Receiver {
  readonly url: string
  /** What it got, in order. */
  readonly received: Received[]
  /** What the next requests are answered: the status, with headers. Default: 200. */
  answer: (received: Received) => Answer | Promise<Answer>
  /** Throws unless the signature is one of the secret. */
  verify(received: Received, secret: string): void
  close(): void
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const headers = plain(request.headers)
    const one = { id: headers["webhook-id"] ?? "", headers, text, body: JSON.parse(text) }
    received.push(one)
    const { status, headers: more } = await receiver.answer(one)
    response.writeHead(status, more).end()
  })
  const port = await listen(server)
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/events`,
    received,
    answer: () => ({ status: 200 }),
    verify: ({ text, headers }, secret) => void new Webhook(secret).verify(text, headers),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
