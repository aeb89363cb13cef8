import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { access } from "./access.js"
import { keyTenantCheck } from "./key-tenant.js"
import { pageFiles } from "./page-files.js"
import { forward, readiness, type Service } from "./service.js"

export interface ConsoleOptions extends Service {
  /** The port on 127.0.0.1. 0: one that is free. Default: 0. */
  port?: number
  /**
   * Called with an address that opens the console once: at the start, and when a browser without access has come after the last
   * address was used.
   */
  onAddress: (url: string) => void
}

/** A console that is being served. */
export interface Console {
  /** The address of the console, without access to it. */
  url: string
  /** Ends it, and all of its requests. */
  close(): Promise<void>
}

// Nothing from other hosts, no inline code, and no page of others around this one.
const headers = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
}

/**
 * Serves the console on 127.0.0.1. The API key stays in this process: the page calls the service through it.
 *
 * @returns The console when it listens. Rejects with the error of the socket, such as EADDRINUSE.
 */
export async function startConsole({ port = 0, onAddress, ...service }: ConsoleOptions): Promise<Console> {
  const newSecret = () => randomBytes(32).toString("base64url")
  const files = await pageFiles()
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    answer(request, response).catch(() => response.destroy())
  })
  server.maxConnections = 100
  const strangers = limitStrangers(server)
  server.headersTimeout = 10_000
  // The page has a few requests at a time, and one stream.
  server.requestTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => resolve())
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `http://${host}`
  const objection = keyTenantCheck(service)
  const gate = access({ host, newSecret, onAddress })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", url)
    if (!gate.isOwn(request)) return end(response, 403, "This console answers only its own page.")
    if (request.method === "GET" && searchParams.has("token")) return gate.open(request, response)
    if (!gate.isOpen(request)) {
      gate.offer()
      return end(
        response,
        403,
        "Open the address that the console has printed in its terminal. Each address works once.",
      )
    }
    strangers.delete(request.socket)
    if (request.method === "POST" && pathname.startsWith("/rpc/")) {
      if (!gate.isPage(request)) return end(response, 403, "Open a new address from the terminal.")
      return forward({ ...service, objection }, pathname.slice("/rpc/".length), request, response)
    }
    if (request.method !== "GET") return end(response, 405, "Method not allowed.")
    if (pathname === "/status") return end(response, 200, JSON.stringify(await readiness(service)), "application/json")
    // The address of a view may have any name in it, as that of a user with the id a.b.
    const file = files.get(pathname) ?? (pathname.startsWith("/assets/") ? undefined : files.get("/index.html"))
    if (file === undefined) return end(response, 404, "Not found.")
    end(response, 200, file.content, file.type)
  }

  gate.offer()
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The most connections that have not shown the cookie. With more, the oldest is closed, so that they keep nobody out. */
const maxStrangers = 50

/** Returns the connections that have not shown the cookie, the oldest first. */
function limitStrangers(server: Server): Set<Socket> {
  const strangers = new Set<Socket>()
  server.on("connection", (socket) => {
    const [oldest] = strangers
    if (strangers.size >= maxStrangers) oldest?.destroy()
    strangers.add(socket)
    socket.once("close", () => strangers.delete(socket))
  })
  return strangers
}

function end(response: ServerResponse, status: number, content: string | Buffer, type = "text/plain; charset=utf-8") {
  response.writeHead(status, { "Content-Type": type }).end(content)
}
