import * as core from "@auth/core/jwt"
import { createAuthwireClient } from "@authwire/client"
import { decode, encode } from "@authwire/token"
import { median } from "./load/statistics.ts"

/** The number of tokens in one measurement. */
const batch = 240

const salt = "authjs.session-token"
const secret = "zR3mX0cV8qLk1TnYb5WdHs7JpGfUe2Ai"
const oldSecret = "Qh6tWm1XzRs4VdKy8NcPb3LgJf0UeA7o"
const both = [secret, oldSecret]
/** The payload that Auth.js puts into the token of a user who signed in with a provider. */
const token = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  picture: "https://example.com/ada.png",
  sub: "0b9c1c55-6f5e-4b39-9a53-6a1d1a8e3d0c",
}

/** The names of the measured calls. Each is made once for every token of a batch. */
export const callNames = ["core encode", "encode", "core decode", "decode", "decode old", "decode again"] as const
export type CallName = (typeof callNames)[number] | "remote"

type Call = (token: string) => Promise<unknown>

const calls: Record<(typeof callNames)[number], Call> = {
  "core encode": () => core.encode({ token, secret, salt }),
  encode: () => encode({ token, secret, salt }),
  "core decode": (token) => core.decode({ token, secret, salt }),
  decode: (token) => decode({ token, secret: both, salt }),
  "decode old": (token) => decode({ token, secret: both, salt }),
  "decode again": (token) => decode({ token, secret: both, salt }),
}

/** Returns a call of TokenService.Decode on a running service, with the service's own secret. */
export async function remoteCall(url: string) {
  const client = createAuthwireClient({ url, apiKey: process.env.AUTHWIRE_API_KEY })
  const { token: issued } = await client.tokens.encode({ payload: token, salt })
  return { call: () => client.tokens.decode({ token: issued, salt }), close: () => client.close() }
}

/** Returns the median duration of a call, in microseconds. */
export async function measure(name: CallName, remote?: Call): Promise<number> {
  const call = name === "remote" ? remote : calls[name]
  if (call === undefined) throw new Error("there is no service to call")
  const made = { token, salt, secret: name === "decode old" ? oldSecret : secret }
  const tokens = await Promise.all(Array.from({ length: batch }, () => core.encode(made)))
  if (name === "decode again") for (const one of tokens) await call(one)
  const times: number[] = []
  for (const one of tokens) {
    const start = performance.now()
    if (!(await call(one))) throw new Error(`${name}: no answer`)
    times.push(performance.now() - start)
  }
  return 1000 * median(times)
}
