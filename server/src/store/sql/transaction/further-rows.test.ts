import { describeServers, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newId,
  newUser,
  outcomes,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { openSqlStore, type SqlStore } from "../index.js"

describeServers("a write with an idempotency key that names a further row while it runs, on %s", (target) => {
  let database: TestDatabase
  let store: SqlStore
  /** Called when a call has got a connection. */
  let onConnection = () => {}
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    const observer = { waited: () => onConnection(), connected() {}, ran() {}, lookedUp() {} }
    // One permit for writers.
    store = await openSqlStore({ encryptionKeys, url: database.url, poolSize: 2, provisionalMs: 60_000, observer })
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  /** A caller whose signal only ends a test that would otherwise hang. */
  const patient = (): Caller => ({ ...anyone, signal: AbortSignal.timeout(20_000) })

  // The call that creates finds the provisional user by the address that both have, and then has to wait for that row.
  test.each<[string, (id: string, email: string) => Promise<unknown>]>([
    ["a writer that has locked the row and waits for a permit", (id) => store.accounts.link(patient(), newAccount(id))],
    [
      "a writer that has locked the row and waits for the address",
      (id, email) => store.users.update(patient(), id, { email }),
    ],
  ])("does not wait for ever with %s", async (_, write) => {
    const email = `${newId()}@example.com`
    const { id } = await store.users.create(anyone, newUser({ email }), { provisional: true })
    const caller = patient()
    const connected = new Promise<void>((resolve) => {
      onConnection = resolve
    })
    const creating = store.once(caller, { owner: "", key: newId(), digest: () => "" }, async (transaction) => {
      await store.users.create({ ...caller, transaction }, newUser({ email }))
      return Buffer.alloc(0)
    })
    const writing = connected.then(() => write(id, email))
    expect(await outcomes([creating])).toEqual({ EMAIL_ALREADY_EXISTS: 1 })
    expect(await outcomes([writing])).toEqual({ ok: 1 })
  })
})
