import { timingSafeEqual } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"

/** Who may use the console. */
export interface Access {
  /** Whether a request is for this console by its own name, and comes from its own page or from no page. */
  isOwn(request: IncomingMessage): boolean
  /** Whether a request has the cookie. */
  isOpen(request: IncomingMessage): boolean
  /** Whether a request also has the secret that only scripts of this origin can read. */
  isPage(request: IncomingMessage): boolean
  /** Answers a request with a token. A token works once. */
  open(request: IncomingMessage, response: ServerResponse): void
  /** Prints an address with a token, unless the last one was not used. */
  offer(): void
}

/**
 * Decides who may use the console. Browsers send a cookie to every port of a host, so that a server of another user on this machine
 * may see it. Therefore calls need a second secret, which the page stores for its own origin.
 */
export function access(options: {
  /** The host and port that browsers must ask for. */
  host: string
  newSecret: () => string
  onAddress: (url: string) => void
}): Access {
  const { host, newSecret, onAddress } = options
  const cookieName = `authwire_console_${host.split(":")[1]}`
  const cookie = newSecret()
  const pageSecret = newSecret()
  let token: string | undefined

  const isOwn = ({ headers }: IncomingMessage) => {
    const site = headers["sec-fetch-site"]
    const isFromElsewhere = site !== undefined && site !== "same-origin" && site !== "none"
    return headers.host === host && (headers.origin ?? `http://${host}`) === `http://${host}` && !isFromElsewhere
  }
  const isOpen = ({ headers }: IncomingMessage) =>
    (headers.cookie ?? "").split(/; ?/).some((one) => {
      const [name, value = ""] = one.split("=")
      return name === cookieName && isEqual(value, cookie)
    })

  return {
    isOwn,
    isOpen,
    isPage: ({ headers }) => isEqual(String(headers["x-console-page"] ?? ""), pageSecret),

    open(request, response) {
      const given = new URL(request.url ?? "/", `http://${host}`).searchParams.get("token") ?? ""
      if (token === undefined || !isEqual(given, token)) {
        response.writeHead(403, { "Content-Type": "text/plain; charset=utf-8" })
        response.end("This address has been used, or is of another console. Open a new one: the terminal shows it.")
        if (token === undefined) this.offer()
        return
      }
      token = undefined
      response.writeHead(303, {
        "Set-Cookie": `${cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Strict`,
        // Browsers send no fragment to any server.
        Location: `/#page=${pageSecret}`,
      })
      response.end()
    },

    offer() {
      if (token !== undefined) return
      token = newSecret()
      onAddress(`http://${host}/?token=${token}`)
    },
  }
}

function isEqual(given: string, expected: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === two.length && timingSafeEqual(one, two)
}
