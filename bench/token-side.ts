// One side of bench/token.ts, in a process of its own: measures the call that the parent names, and answers microseconds.

import { EncryptJWT, jwtDecrypt } from "jose"
import { createSyncTokens, derive } from "./token-node-crypto.ts"

const [name = "", url = ""] = process.argv.slice(2)
const many = name.endsWith("32")
const side = many ? name.slice(0, -2) : name

const salt = "authjs.session-token"
const secret = "zR3mX0cV8qLk1TnYb5WdHs7JpGfUe2Ai"
const oldSecret = "Qh6tWm1XzRs4VdKy8NcPb3LgJf0UeA7o"
/** What Auth.js puts into the token of a user who signed in with a provider. */
const token = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  picture: "https://example.com/ada.png",
  sub: "0b9c1c55-6f5e-4b39-9a53-6a1d1a8e3d0c",
}

type Call = () => unknown

/** The calls of this side by name, checked to work. */
async function calls(): Promise<Record<string, Call>> {
  switch (side) {
    case "auth-core":
    case "authwire": {
      const { encode, decode } = await import(side === "authwire" ? "@authwire/token" : "@auth/core/jwt")
      const issued = await encode({ token, secret, salt })
      const old = await encode({ token, secret: oldSecret, salt })
      const both = [secret, oldSecret]
      return {
        encode: () => encode({ token, secret, salt }),
        decode: () => decode({ token: issued, secret, salt }),
        first: () => decode({ token: issued, secret: both, salt }),
        second: () => decode({ token: old, secret: both, salt }),
      }
    }
    case "jose": {
      // What is left when the key costs nothing.
      const { key, kid } = await derive(secret, salt)
      const issued = await (await import("@auth/core/jwt")).encode({ token, secret, salt })
      const rules = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256CBC-HS512", "A256GCM"] }
      return {
        encode: () =>
          new EncryptJWT(token)
            .setProtectedHeader({ alg: "dir", enc: "A256CBC-HS512", kid })
            .setIssuedAt()
            .setExpirationTime("30d")
            .setJti(crypto.randomUUID())
            .encrypt(key),
        decode: () => jwtDecrypt(issued, key, { ...rules, clockTolerance: 15 }),
      }
    }
    case "node-crypto": {
      const { encode, decode } = await import("@auth/core/jwt")
      const tokens = await createSyncTokens(secret, salt)
      const issued = await encode({ token, secret, salt })
      await decode({ token: tokens.encode(token), secret, salt })
      return { encode: () => tokens.encode(token), decode: () => tokens.decode(issued) }
    }
    case "remote": {
      const { createAuthwireClient } = await import("@authwire/client")
      const { tokens } = createAuthwireClient({ url, apiKey: process.env.AUTHWIRE_API_KEY })
      const { token: issued } = await tokens.encode({ payload: token, salt })
      return { decode: () => tokens.decode({ token: issued, salt }) }
    }
    default:
      throw new Error(`there is no side ${side}`)
  }
}

/** The median time of a call, one after the other. */
async function oneByOne(call: Call): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < 250; count++) {
    const start = performance.now()
    await call()
    times.push(performance.now() - start)
  }
  return (times.toSorted((one, other) => one - other)[125] as number) * 1000
}

/** The time of a run of calls, 32 at a time, by their number. */
async function together(call: Call): Promise<number> {
  const start = performance.now()
  const lane = async () => {
    for (let count = 0; count < 16; count++) await call()
  }
  await Promise.all(Array.from({ length: 32 }, lane))
  return ((performance.now() - start) / (32 * 16)) * 1000
}

const known = await calls()
for (const call of Object.values(known)) {
  if (!(await call())) throw new Error("a call answers nothing")
}
process.on("message", async (name: string) => {
  const call = known[name]
  if (call === undefined) throw new Error(`there is no call ${name}`)
  process.send?.(many ? await together(call) : await oneByOne(call))
})
process.on("disconnect", () => process.exit())
