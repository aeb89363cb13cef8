import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createAuthwireClient } from "@authwire/client"
import { signals as forExpress } from "@authwire/client/express"
import { signals as forNextjs } from "@authwire/client/nextjs"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import express from "express"
import { apple, event, type Issuer, logout, startIssuer } from "./issuer.js"
import { type SignalWorld, signIn, startSignalWorld } from "./world.js"

// The handlers of applications that pass signals on to a service that a provider cannot reach.
type Client = Parameters<typeof forNextjs>[0]
interface Handler {
  readonly name: string
  /** Calls the handler with a request to the address of a provider. */
  ask(client: Client, provider: string, request: { type: string; body: string }): Promise<Response>
}

const handlers: readonly Handler[] = [
  {
    name: "Next.js",
    ask(client, provider, { type, body }) {
      const headers = { "content-type": type }
      const request = new Request(`http://app/api/signals/${provider}`, { method: "POST", headers, body })
      return forNextjs(client).POST(request, { params: Promise.resolve({ provider }) })
    },
  },
  {
    name: "Express",
    async ask(client, provider, { type, body }) {
      const server = createServer(express().post("/signals/:provider", forExpress(client))).listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port } = server.address() as AddressInfo
      try {
        const headers = { "content-type": type }
        return await fetch(`http://127.0.0.1:${port}/signals/${provider}`, { method: "POST", headers, body })
      } finally {
        server.close()
      }
    },
  },
]

const form = (token: string) => ({
  type: "application/x-www-form-urlencoded",
  body: new URLSearchParams({ logout_token: token }).toString(),
})
const push = (body: string) => ({ type: "application/secevent+jwt", body })
const notification = (payload: string) => ({
  type: "application/json; charset=utf-8",
  body: JSON.stringify({ payload }),
})

let issuer: Issuer
let database: TestDatabase
let world: SignalWorld
beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
  issuer = await startIssuer()
  world = await startSignalWorld(database, issuer)
})
afterAll(async () => {
  await world.stop()
  issuer.close()
  await database.drop()
})

describe.each(handlers)("the handler for $name", ({ ask }) => {
  test("passes each kind of token on, and answers as its standard says", async () => {
    const user = await signIn(world.client)
    const token = await issuer.sign(logout({ sid: `one ${user.userId}` }))
    const taken = await ask(world.client, "idp", form(token))
    expect([taken.status, taken.headers.get("cache-control"), await taken.text()]).toEqual([200, "no-store", ""])
    expect(await user.sids()).toEqual(["other", "two"])
    const again = await ask(world.client, "idp", form(token))
    expect([again.status, await again.json()]).toEqual([400, expect.objectContaining({ error: "invalid_request" })])
    const revoked = await issuer.sign(
      event("risc.sessions-revoked", { subject_type: "iss-sub", iss: issuer.issuer, sub: user.sub }),
    )
    for (const _ of ["first", "again"]) expect((await ask(world.client, "idp", push(revoked))).status).toBe(202)
    expect(await user.sids()).toEqual(["other"])
    const deleted = await issuer.sign(apple("consent-revoked", user.sub))
    expect((await ask(world.client, "unlinking", notification(deleted))).status).toBe(200)
  })

  test("answers a token that is refused by the code of its standard", async () => {
    const foreign = await issuer.sign({ ...event("risc.verification"), aud: "another" })
    const refused = await ask(world.client, "idp", push(foreign))
    expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ err: "invalid_audience" })])
    for (const body of ["", "{}", "[]", "no JSON", '{"payload": 7}'])
      expect((await ask(world.client, "idp", { type: "application/json", body })).status).toBe(400)
  })

  test("takes no other type, no large body and no unknown provider, and an outage may be tried again", async () => {
    const token = await issuer.sign(logout({ sub: "nobody" }))
    expect((await ask(world.client, "idp", { type: "text/plain", body: token })).status).toBe(415)
    expect((await ask(world.client, "idp", push("x".repeat(16_385)))).status).toBe(413)
    expect((await ask(world.client, "unknown", form(token))).status).toBe(404)
    const gone = createAuthwireClient({ url: `http://127.0.0.1:${await freePort()}` })
    const failed = await ask(gone, "idp", form(token))
    expect([failed.status, failed.headers.get("retry-after")]).toEqual([503, "1"])
    gone.close()
  })
})
