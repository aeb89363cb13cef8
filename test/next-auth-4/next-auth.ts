import { existsSync } from "node:fs"
import { createRequire } from "node:module"

const installed = createRequire(new URL("application/package.json", import.meta.url))

/** Whether next-auth 4 is installed. It is not among the packages of the workspaces. */
export function hasNextAuth4(): boolean {
  return existsSync(new URL("application/node_modules/next-auth", import.meta.url))
}

type Claims = Record<string, unknown>

/** The functions of `next-auth/jwt` 4. */
export interface Jwt4 {
  encode(params: { token?: Claims; secret: string; maxAge?: number; salt?: string }): Promise<string>
  decode(params: { token?: string; secret: string; salt?: string }): Promise<Claims | null>
  getToken(params: {
    req: object
    secret: string
    secureCookie?: boolean
    cookieName?: string
    decode?: unknown
  }): Promise<Claims | null>
}

/** Loads the real `next-auth/jwt`. */
export function loadJwt4(): Jwt4 {
  return installed("next-auth/jwt")
}

/** The parts of a configuration of next-auth 4 that tests set. */
export interface Options4 {
  adapter: object
  secret: string
  session?: { strategy?: "database" | "jwt"; maxAge?: number; updateAge?: number }
  jwt?: object
  callbacks?: object
  cookies?: object
  logger?: object
}

export interface Answer4 {
  status: number
  location: string | undefined
  body: unknown
}

/** An application of the real next-auth 4, and the browser that visits it, which has only cookies. */
export interface Application4 {
  /** Signs in with an e-mail link. No e-mail has to be sent. */
  signIn(email: string): Promise<Answer4>
  /** The first half of it. Returns what follows the link. */
  requestLink(email: string): Promise<() => Promise<Answer4>>
  signOut(): Promise<Answer4>
  /** The session as next-auth itself reports it. An empty object: no user is signed in. */
  session(): Promise<{ user?: Claims; expires?: string }>
  visit(action: string[], form?: Record<string, string>, query?: Record<string, string>): Promise<Answer4>
  /** The cookies of the browser, by name. */
  readonly cookies: Map<string, string>
}

/** Calls next-auth as the Pages Router of Next.js does. */
export function application4(options: Options4, cookies: Map<string, string> = new Map()): Application4 {
  const NextAuth = installed("next-auth").default
  let link: string | undefined
  const handler = NextAuth({
    logger: { error() {}, warn() {} },
    ...options,
    providers: [
      {
        id: "email",
        type: "email",
        name: "Email",
        maxAge: 3600,
        options: {},
        sendVerificationRequest({ url }: { url: string }) {
          link = url
        },
      },
    ],
  })

  async function visit(
    action: string[],
    form?: Record<string, string>,
    query: Record<string, string> = {},
  ): Promise<Answer4> {
    const answer: Answer4 = { status: 200, location: undefined, body: undefined }
    const response = {
      status(status: number) {
        answer.status = status
        return response
      },
      getHeader: () => undefined,
      setHeader(name: string, value: string | string[]) {
        if (name === "Location") answer.location = String(value)
        if (name === "Set-Cookie") for (const line of [value].flat()) keep(line)
        return response
      },
      send(body: unknown) {
        answer.body = body
      },
      json(body: unknown) {
        answer.body = body
      },
      end() {},
    }
    await handler(
      {
        method: form ? "POST" : "GET",
        query: { nextauth: action, ...query },
        cookies: Object.fromEntries(cookies),
        headers: { host: "localhost:3000" },
        body: form,
      },
      response,
    )
    return answer
  }

  function keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === "" || /; Max-Age=0(;|$)/i.test(line)) cookies.delete(name)
    else cookies.set(name, decodeURIComponent(value))
  }

  async function post(action: string[], form: Record<string, string> = {}): Promise<Answer4> {
    const { csrfToken } = (await visit(["csrf"])).body as { csrfToken: string }
    return visit(action, { ...form, csrfToken })
  }

  async function requestLink(email: string): Promise<() => Promise<Answer4>> {
    link = undefined
    await post(["signin", "email"], { email })
    if (link === undefined) throw new Error("no link was sent")
    const query = Object.fromEntries(new URL(link).searchParams)
    return () => visit(["callback", "email"], undefined, query)
  }

  return {
    cookies,
    visit,
    requestLink,
    async signIn(email) {
      const follow = await requestLink(email)
      return follow()
    },
    signOut: () => post(["signout"]),
    session: async () => (await visit(["session"])).body as Awaited<ReturnType<Application4["session"]>>,
  }
}
