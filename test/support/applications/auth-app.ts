import { Auth, type AuthConfig } from "@auth/core"

/**
 * An application of Auth.js (the real Auth(), without pages) and the browser that visits it, which has only cookies.
 */
export interface AuthApp {
  /** Signs in with an e-mail link. No e-mail has to be sent. Returns where Auth.js redirects to. */
  signIn(email: string): Promise<string | null>
  signOut(): Promise<void>
  /** The session as Auth.js itself reports it. null: no user is signed in. */
  session(): Promise<{ user?: { id?: string; name?: string; email?: string }; expires: string } | null>
  /** The cookies of the browser, by name. */
  readonly cookies: ReadonlyMap<string, string>
  /** The `Cookie` header with which the browser sends them. */
  cookieHeader(): string
}

/** @param origin The URL of the application. With https, cookies are secure and have the prefix `__Secure-`. */
export function authApp(origin: string, config: Omit<AuthConfig, "providers">): AuthApp {
  let link: string | undefined
  const cookies = new Map<string, string>()
  const options: AuthConfig = {
    ...config,
    basePath: "/auth",
    trustHost: true,
    providers: [
      {
        id: "email",
        type: "email",
        name: "Email",
        from: "no-reply@example.com",
        maxAge: 3600,
        options: {},
        sendVerificationRequest({ url }) {
          link = url
        },
      },
    ],
  }
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")

  async function visit(path: string, form?: Record<string, string>): Promise<Response> {
    const headers = new Headers({ cookie: cookieHeader() })
    const posted = form && { method: "POST", body: new URLSearchParams(form) }
    const answer = await Auth(new Request(new URL(path, origin), { headers, ...posted }), options)
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string]
      if (value === "" || /; Max-Age=0(;|$)/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }

  async function post(path: string, form: Record<string, string> = {}): Promise<void> {
    const { csrfToken } = (await (await visit("/auth/csrf")).json()) as { csrfToken: string }
    const answer = await visit(path, { ...form, csrfToken })
    if (answer.headers.get("location")?.includes("error")) throw new Error(`${path} failed`)
  }

  return {
    cookies,
    cookieHeader,
    async signIn(email) {
      link = undefined
      await post("/auth/signin/email", { email })
      if (link === undefined) throw new Error("no link was sent")
      return (await visit(link)).headers.get("location")
    },
    signOut: () => post("/auth/signout"),
    session: async () => (await visit("/auth/session")).json() as ReturnType<AuthApp["session"]>,
  }
}
