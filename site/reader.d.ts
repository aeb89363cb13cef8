// What the pieces of code on the pages use of the reader's own application. check-code.js compiles them with it.
declare const app: import("express").Express
declare const AuthwireAdapter: typeof import("@authwire/client").AuthwireAdapter
declare const createAuthwireClient: typeof import("@authwire/client").createAuthwireClient
declare const ExpressAuth: typeof import("@auth/express").ExpressAuth
declare const readFileSync: typeof import("node:fs").readFileSync
declare const authwire: import("@authwire/client").AuthwireClient
declare const providers: []
declare const request: Request
declare const [url, apiKey, id, userId, sessionToken, cookieHeader, ca, cert, key]: string[]
declare const userIds: string[]
declare const signal: AbortSignal
declare const startCursor: string | undefined
declare function forget(sessionId: string | undefined): Promise<void>
declare function keep(cursor: string): Promise<void>

declare module "@/auth" {
  export const auth: import("next-auth").NextAuthResult["auth"]
}
