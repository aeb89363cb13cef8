import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Received, type Receiver, startReceiver } from "../webhooks/receiver.js"

describe("authwire webhooks", () => {
  const authwire = useAuthwire(serviceDatabase())
  let receiver: Receiver
  let operator: string
  let reader: string
  let id: string
  let secret: string
  beforeAll(async () => {
    receiver = await startReceiver()
    operator = (await createKey(authwire.database, "users:read,webhooks:read,webhooks:write")).text
    reader = (await createKey(authwire.database, "webhooks:read,webhooks:write")).text
    const name = "--name=billing"
    const created = await command("create", name, `--to=${receiver.url}`, "--kinds=user.created,user.deleted")
    expect({ ...created, stdout: "" }).toEqual({
      ...{ code: 0, stdout: "" },
      stderr: "The secret is shown only once. The receiver verifies deliveries with it.\n",
    })
    const [, createdId, createdSecret] = /^created ([0-9a-f]{32})\n(whsec_\S{44})\n$/.exec(created.stdout) ?? []
    id = createdId as string
    secret = createdSecret as string
  })
  afterAll(() => receiver.close())

  const commandOf = (key: string, ...[name, ...args]: string[]) =>
    run(["webhooks", name as string, ...args, `--url=${authwire.server.grpcUrl}`], { AUTHWIRE_API_KEY: key })
  const command = (...args: string[]) => commandOf(operator, ...args)
  const json = async (...args: string[]) => {
    const { stdout } = await command(...args, "--json")
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
  }

  test("create makes a webhook whose secret verifies what is sent; test waits until it is accepted", async () => {
    const tested = await command("test", id)
    expect(tested).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^accepted: status 200 in \d+ ms\n$/),
      stderr: "",
    })
    receiver.verify(receiver.received[0] as Received, secret)
    const [webhook] = await json("list")
    expect(webhook).toMatchObject({
      ...{ id, name: "billing", url: receiver.url },
      kinds: ["EVENT_KIND_USER_CREATED", "EVENT_KIND_USER_DELETED"],
    })
    expect((await command("list")).stdout).toMatch(
      /^id +name +url +kinds +user +created +state\n\S+ +billing +http:\S+ +user\.created,user\.deleted +\d{4}-\S+Z +enabled\n$/,
    )
  })

  test("test says what the receiver answers, or why it does not, with the exit code 1", async () => {
    receiver.answer = () => ({ status: 503 })
    const refused = { code: 1, stdout: expect.stringMatching(/^refused: status 503 in \d+ ms\n$/), stderr: "" }
    expect(await command("test", id)).toEqual(refused)
    receiver.answer = () => ({ status: 200 })
    // It is sent again at once, so that the next test is not behind it.
    const newest = async () => (await json("deliveries", id, "--limit=1"))[0]
    const { id: first } = await newest()
    await command("redeliver", first)
    await until(async () => (await newest()).status === 200)
    const away = await startReceiver()
    away.close()
    expect(await command("update", id, `--to=${away.url}`)).toMatchObject({ code: 0, stdout: `changed ${id}\n` })
    const [failed] = await json("test", id)
    expect(failed).toMatchObject({ pending: true, attempts: 1, error: "connection refused" })
    const shown = await command("deliveries", id, "--pending")
    expect(shown.stdout).toMatch(
      /^id +kind +user +created +attempts +outcome +next\n\S+ +webhook\.test +\d{4}-\S+Z +1 +failed: connection refused in \d+ ms +\d{4}-\S+Z\n$/,
    )
    await command("update", id, `--to=${receiver.url}`)
  })

  test("redeliver sends a delivery again", async () => {
    const deliveryOf = async (status: number) =>
      (await json("deliveries", id)).find((one) => one.status === status && one.pending === undefined)
    await until(async () => (await deliveryOf(200)) !== undefined, 20_000)
    const delivery = await deliveryOf(200)
    const count = () => receiver.received.filter((one) => one.id === delivery.id).length
    const before = count()
    expect(await command("redeliver", delivery.id)).toEqual({
      ...{ code: 0, stdout: `sending ${delivery.id} again\n`, stderr: "" },
    })
    await until(() => count() === before + 1)
    expect(await command("redeliver", "x")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^authwire: there is no delivery with this id: /),
    })
  })

  test("update changes what is given and nothing else; a disabled webhook is not tested", async () => {
    const changes = ["--name=Billing \u202e", "--kinds=all", "--include-user=on"]
    expect((await command("update", id, ...changes)).code).toBe(0)
    const [changed] = await json("list")
    expect(changed).toMatchObject({ name: "Billing \u202e", includeUser: true, url: receiver.url })
    expect(changed.kinds).toBeUndefined()
    // Nothing of it controls the terminal.
    expect((await command("list")).stdout).toMatch(/ Billing \\u202e +\S+ +all +included /)
    expect(await command("update", id, "--state=disabled", "--include-user=off")).toMatchObject({ code: 0 })
    expect((await command("list")).stdout).toMatch(/ disabled since \d{4}-\S+Z \(requested\)\n$/)
    const { length } = await json("deliveries", id)
    expect(await command("test", id)).toEqual({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringMatching(
        /^authwire: the webhook is disabled since \S+ \(requested\): authwire webhooks update ID --state enabled\n$/,
      ),
    })
    expect(await json("deliveries", id)).toHaveLength(length)
    expect(await command("update", id, "--state=enabled")).toMatchObject({ code: 0 })
    expect(await command("test", id)).toMatchObject({ code: 0 })
  })

  test("rotate-secret prints the new secret; the previous one is valid for --overlap", async () => {
    const { code, stdout, stderr } = await command("rotate-secret", id, "--overlap=0")
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "The secret is shown only once. The receiver verifies deliveries with it.\n",
    })
    const rotated = await command("rotate-secret", id, "--overlap=1h")
    expect(rotated.stderr).toMatch(/\nUntil \d{4}-\S+Z the previous secret is valid too\.\n$/)
    await command("test", id)
    const last = receiver.received.at(-1) as Received
    for (const one of [stdout, rotated.stdout]) receiver.verify(last, one.trim())
    expect(() => receiver.verify(last, secret)).toThrow()
  })

  test.each([
    [["create", "--to=https://example.com"], 2, "--name: is required"],
    [["create", "--name=n"], 2, "--to: is required: where deliveries go"],
    [["create", "--name=n", "--to=ftp://example.com"], 2, "--to: must be a URL that begins with http"],
    [
      ["create", "--name=n", "--to=https://10.0.0.1"],
      1,
      "the service rejects an argument: --to: must not be a private",
    ],
    [["create", "--name=n", "--to=https://example.com", "--kinds=x"], 2, "--kinds: must be all, or one or more of"],
    [["update", "x"], 2, "webhooks update: give at least one of --name, --to,"],
    [["update", "x", "--state=enabled"], 1, "there is no webhook with this id: authwire webhooks list"],
    [["delete", "x"], 1, "there is no webhook with this id"],
    [["delete", "x", "--dry-run"], 1, "there is no webhook with this id"],
    [["rotate-secret", "x"], 1, "there is no webhook with this id"],
    [["test", "x"], 1, "there is no webhook with this id"],
    [["deliveries", "x"], 1, "there is no webhook with this id"],
  ])("%j ends with the code %d, and says what to do", async (args, code, sentence) => {
    const { stdout, stderr, ...result } = await command(...args)
    expect({ ...result, stdout }).toEqual({ code, stdout: "" })
    expect(stderr).toContain(`authwire: ${sentence}`)
  })

  test("nobody lets a webhook tell of users whom their key may not read", async () => {
    const created = await commandOf(reader, "create", "--name=n", `--to=${receiver.url}`, "--include-user=on")
    expect(created).toMatchObject({ code: 1, stderr: expect.stringContaining("lacks the scope users:read") })
  })

  test("delete deletes the webhook, and nothing with --dry-run", async () => {
    const dry = await command("delete", id, "--dry-run")
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining(`found ${id} (`) })
    expect(await json("list")).toHaveLength(1)
    expect((await command("delete", id)).stdout).toContain(`deleted ${id} (`)
    expect(await authwire.rows("SELECT id FROM webhooks")).toEqual([])
  })
})
