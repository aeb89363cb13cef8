import { describeServer, tcpProxy } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { pino } from "pino"
import { startCleaner } from "../../server/src/cleanup/cleaner.js"
import { openSqlStore } from "../../server/src/store/sql/index.js"

describeServer("a cleaner whose database stops responding", (target) => {
  test("stops when its grace period is over, even if its statement is blocked", async () => {
    const database = await createStoreDatabase(target)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306))
    url.host = `127.0.0.1:${proxy.port}`
    const store = await openSqlStore({ encryptionKeys, url: url.href, statementTimeoutMs: 60_000 })
    let rounds = 0
    const cleaner = startCleaner({
      store,
      log: pino({ level: "silent" }),
      observer: { lease() {}, deleted() {}, oldest() {}, ended: () => void rounds++ },
      intervalMs: 20,
      keepMs: 0,
    })
    await until(() => rounds > 0)
    proxy.hang()
    await until(() => store.database.load().active > 0)
    const start = performance.now()
    await cleaner.stop(200)
    // Including one second for the lease. The statement may take a minute.
    expect(performance.now() - start).toBeLessThan(20_000)
    await store.close()
    await proxy.close()
    await database.drop()
  })
})
