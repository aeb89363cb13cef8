import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { pipelineClient } from "@authwire/test-support/connections/pipeline.js"
import { type RawPipeline, rawPipelines } from "@authwire/test-support/connections/raw-pipeline.js"
import { createDatabase, serviceDatabase, tcpProxy } from "@authwire/test-support/databases/databases.js"
import { type Heap, heapTold, openHeap } from "@authwire/test-support/machine/heap.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

/** A call that needs no database. */
const introspect = (id: number) => ({ id, method: "authwire.v1.IntrospectionService/Introspect" })
const turn = () => new Promise((resolve) => setImmediate(resolve))

const target = serviceDatabase()

describe(`a server on ${target} leaks no memory`, () => {
  let heap: Heap
  const authwire = useAuthwire(target, { args: ["--log-level=warn"], env: heapTold })
  beforeAll(async () => {
    heap = await openHeap(authwire.server)
    authwire.later(async () => heap.close())
  })

  /** Returns the growth of the server's heap per unit of work after a warm-up, in bytes. */
  async function growth(count: number, work: (count: number) => Promise<void>): Promise<number> {
    await work(Math.ceil(count / 5))
    const before = await heap.usedBytes()
    await work(count)
    const after = await heap.usedBytes()
    return (after - before) / count
  }

  test("for 100,000 cancelled calls", async () => {
    const client = pipelineClient({ url: authwire.server.grpcUrl })
    const cancelled = async (count: number) => {
      for (let done = 0; done < count; done += 500) {
        const giveUp = new AbortController()
        const calls = Array.from({ length: 500 }, () =>
          client.users.getUser({ id: "nobody" }, { signal: giveUp.signal }).catch(({ code }) => code),
        )
        await turn()
        giveUp.abort()
        for (const code of await Promise.all(calls)) expect(code).toBe("CANCELLED")
      }
      // When it has answered this call, it has processed all calls before.
      expect(await client.adapter.getUser("nobody")).toBeNull()
    }
    expect(await growth(100_000, cancelled)).toBeLessThan(30)
    client.close()
  })

  test("for 200,000 calls on one stream", async () => {
    const raw = rawPipelines(authwire.server.grpcUrl)
    const stream = raw.open()
    let answers = 0
    let sent = 0
    stream.read(() => {
      answers++
    })
    const messages = async (count: number) => {
      for (let done = 0; done < count; done++) {
        while (sent - answers >= 500) await turn()
        stream.send({ calls: [introspect(sent++), introspect(sent++), introspect(sent++), introspect(sent++)] })
      }
      await until(() => answers === sent)
    }
    expect(await growth(50_000, messages)).toBeLessThan(50)
    stream.cancel()
    raw.close()
  })

  test("for 20,000 streams, ended or reset", async () => {
    const use = async (stream: RawPipeline, ends: boolean) => {
      const answered = new Promise((resolve) => stream.read(resolve))
      stream.send({ calls: [introspect(1)] })
      await answered
      if (ends) stream.finish()
      else stream.cancel()
      await stream.ended
    }
    const streams = async (count: number) => {
      for (let done = 0; done < count; done += 1000) {
        // HTTP/2 does not accept many more resets than these on one connection.
        const raw = rawPipelines(authwire.server.grpcUrl)
        for (let batch = 0; batch < 250; batch++)
          await Promise.all(Array.from({ length: 4 }, (_, index) => use(raw.open(), index % 2 === 0)))
        raw.close()
      }
    }
    const files = () => readdirSync(`/proc/${authwire.server.pid}/fd`).length
    await streams(1)
    const before = files()
    expect(await growth(20_000, streams)).toBeLessThan(100)
    await until(() => files() <= before)
  })
})

describe("a client leaks no memory", () => {
  test("for 100,000 calls that were cancelled or passed their deadline, whether or not the server reads them", async () => {
    const database = await createDatabase("sqlite")
    const server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"] })
    const proxy = await tcpProxy(Number(new URL(server.grpcUrl).port))
    const program = fileURLToPath(new URL("../support/connections/given-up-calls.js", import.meta.url))
    const child = spawn(process.execPath, ["--expose-gc", program, `http://127.0.0.1:${proxy.port}`, "50000"], {
      env: { ...process.env, NODE_OPTIONS: "" },
      stdio: ["pipe", "pipe", "inherit"],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe("ready")
    const growths: number[] = []
    for (const hangs of [false, true]) {
      if (hangs) proxy.hang()
      child.stdin.write("\n")
      growths.push(Number((await lines.next()).value))
    }

    for (const bytes of growths) expect(bytes).toBeLessThan(50)
    await proxy.restore()
    child.stdin.end()
    expect((await once(child, "close"))[0]).toBe(0)
    await server.stop()
    await proxy.close()
    await database.drop()
  })
})
