import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { expect, test } from "@jest/globals"
import { parseProviders } from "../../server/src/provider-tokens/providers-file.js"
import { signalVerifier } from "../../server/src/signals/verifier.js"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { formatAddress } from "../../server/src/util/address.js"
import { clientId, logout, startIssuer } from "./issuer.js"

test("a token is verified once on its way from the address to its effect", async () => {
  await using resources = new AsyncDisposableStack()
  const database = await createStoreDatabase("sqlite")
  resources.defer(() => database.drop())
  const issuer = await startIssuer()
  resources.defer(async () => issuer.close())
  const entry = { token_endpoint: `${issuer.issuer}/token`, issuer: issuer.issuer, client_id: clientId }
  const providers = { default: { idp: { ...entry, auth_method: "none", signals: true } } }
  let verifications = 0
  const verifier = signalVerifier({
    providers: parseProviders(JSON.stringify(providers), { env: {}, folder: "." }),
    // Each verification reads the time once.
    now: () => {
      verifications++
      return Date.now()
    },
    clock: () => performance.now(),
  })
  const { router, transport } = openService(await database.openStore(), { verifier })
  const listener = await openHttpListener({ ...transport, verifier })
  resources.defer(async () => {
    listener.stopAccepting()
    await router.drain(1_000)
    await listener.closed(1_000)
  })
  const address = `http://${formatAddress(listener.address)}/v1/signals/default/idp`
  for (const expected of [1, 2]) {
    const body = new URLSearchParams({ logout_token: await issuer.sign(logout({ sub: "nobody" })) })
    expect((await fetch(address, { method: "POST", body })).status).toBe(200)
    expect(verifications).toBe(expected)
  }
})
