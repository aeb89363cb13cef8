import { randomUUID } from "node:crypto"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { Key } from "../../server/src/auth/key.js"
import { type Keyring, openKeyring } from "../../server/src/auth/keyring.js"
import { parseStaticKeys } from "../../server/src/auth/static-keys.js"
import { access } from "../../server/src/rpc/interceptors/auth.js"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { formatAddress } from "../../server/src/util/address.js"
import { carriers } from "../transports/carriers.js"

/** Opens a service with both listeners that counts the lookups of keys. */
async function openCounting(keys: readonly object[]) {
  const database = await createStoreDatabase("sqlite")
  const store = await database.openStore()
  const log = pino({ level: "silent" })
  const keyring = await openKeyring({ apiKeys: store.apiKeys, log, clock: () => performance.now() })
  keyring.setStaticKeys(parseStaticKeys(JSON.stringify(keys)).map((key) => new Key(key)))
  const looked: string[] = []
  const counting: Keyring = {
    ...keyring,
    get(id) {
      looked.push(id)
      return keyring.get(id)
    },
    lookUp(id) {
      looked.push(`${id} in the database`)
      return keyring.lookUp(id)
    },
  }
  const { router, transport } = openService(store, {
    access: access({ keyring: counting, now: Date.now }),
  })
  const transports = [await openGrpcListener(transport), await openHttpListener(transport)] as const
  const [grpcUrl, httpUrl] = transports.map(({ address }) => `http://${formatAddress(address)}`) as [string, string]
  return {
    ...{ grpcUrl, httpUrl, looked },
    async close() {
      for (const one of transports) one.stopAccepting()
      await router.drain(1_000)
      await Promise.all(transports.map((one) => one.closed(1_000)))
      keyring.stop()
      await database.drop()
    },
  }
}

describe("the key of a call is looked up once", () => {
  const all = staticKey(["all"])
  const sessions = staticKey(["sessions:read"])
  const unknown = staticKey(["all"])
  let service: Awaited<ReturnType<typeof openCounting>>
  beforeAll(async () => {
    service = await openCounting([all.entry, sessions.entry])
  })
  afterAll(() => service.close())
  beforeEach(() => {
    service.looked.length = 0
  })

  describe.each(carriers)("$name", (carrier) => {
    // A pipeline is itself a call, and so is authenticated once.
    const ofTheStream = carrier.way === "pipeline" ? 1 : 0
    const call = async (apiKey: string, times: number) => {
      const client = carrier.connect(service, { apiKey })
      const outcomes: number[] = []
      for (let count = 0; count < times; count++) {
        await client.users.getUser({ id: randomUUID() }).catch((error) => outcomes.push(error.code))
      }
      client.close()
      return outcomes
    }

    test("for accepted calls", async () => {
      expect(await call(all.text, 3)).toEqual([5, 5, 5])
      expect(service.looked).toEqual(Array(3 + ofTheStream).fill(all.id))
    })

    test("for calls whose key lacks the scope", async () => {
      expect(await call(sessions.text, 3)).toEqual([7, 7, 7])
      expect(service.looked).toEqual(Array(3 + ofTheStream).fill(sessions.id))
    })

    test("for a call with an unknown key", async () => {
      expect(await call(unknown.text, 1)).toEqual([16])
      // If its stream is rejected, the client makes the call separately.
      const once = [unknown.id, `${unknown.id} in the database`]
      expect(service.looked).toEqual(
        Array(1 + ofTheStream)
          .fill(once)
          .flat(),
      )
    })
  })
})
