import { once } from "node:events"
import { createServer } from "node:https"
import { type AddressInfo, isIPv4 } from "node:net"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { type NameServer, nameServer } from "@authwire/test-support/connections/name-server.js"
import { authority, type Certificate, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals"
import { WebhookSender } from "./sender.js"

// All receivers are on loopback. A test names the addresses that count as public ones.

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const trusted = getCACertificates()
beforeAll(() => setDefaultCACertificates([...trusted, authority.cert]))
afterAll(() => setDefaultCACertificates(trusted))

let certificate: Certificate
beforeEach(() => {
  certificate = serverCertificate({ names: ["DNS:hooks.test"] })
})

/** Starts receivers at one port of these addresses. Returns the port and the addresses that connections were made to. */
async function receivers(...addresses: string[]) {
  const connected: string[] = []
  let port = 0
  for (const address of addresses) {
    const server = createServer({ cert: certificate.cert, key: certificate.key }, (_, response) => response.end())
    server.on("connection", () => connected.push(address))
    await once(server.listen(port, address), "listening")
    ends.push(() => server.close())
    port = (server.address() as AddressInfo).port
  }
  return { port, connected }
}

async function names(addressesOf: Parameters<typeof nameServer>[0]): Promise<NameServer> {
  const server = await nameServer(addressesOf)
  ends.push(server.close)
  return server
}

function sending(dns: NameServer, allowPrivate: string[], timeoutMs = 15_000) {
  const sender = new WebhookSender({ dev: false, allowPrivate }, { nameServers: [dns.address], timeoutMs })
  const delivery = { secrets: [`whsec_${btoa("secret")}`], id: "msg_1", at: new Date(), body: "{}" }
  return (port: number, host = "hooks.test", signal = new AbortController().signal) =>
    sender.send({ ...delivery, url: `https://${host}:${port}/` }, signal)
}

const isPrivate = { kind: "failed", reason: "the address is private" }

test("S-61: the address that was checked is the one that is connected, when DNS gives another to each question", async () => {
  const { port, connected } = await receivers("127.0.0.1", "127.0.0.2")
  let asked = 0
  const dns = await names((_, type) => (type === "AAAA" ? [] : [asked++ % 2 === 0 ? "127.0.0.2" : "127.0.0.1"]))
  const send = sending(dns, ["127.0.0.2"])
  for (let count = 0; count < 3; count++) {
    expect(await send(port)).toMatchObject({ kind: "answered", status: 200 })
    expect(await send(port)).toMatchObject(isPrivate)
  }
  expect(connected).toEqual(["127.0.0.2", "127.0.0.2", "127.0.0.2"])
  // No address is kept from one delivery to the next.
  expect(asked).toBe(6)
})

test.each([
  [["127.0.0.2", "127.0.0.1"]],
  [["127.0.0.1", "127.0.0.2"]],
  [["127.0.0.2", "::1"]],
  [["::ffff:127.0.0.1", "127.0.0.2"]],
])("S-61: a host with the addresses %j, of which one is private, gets no connection", async (addresses) => {
  const { port, connected } = await receivers("127.0.0.1", "127.0.0.2")
  const send = sending(await names(() => addresses), ["127.0.0.2"])
  expect(await send(port)).toMatchObject(isPrivate)
  expect(connected).toEqual([])
})

test.each([
  ...["127.0.0.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::7f00:1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254", "fe80::1"],
])("S-61: a name with the private address %s gets no connection", async (address) => {
  const dns = await names((_, type) => (isIPv4(address) === (type === "A") ? [address] : []))
  expect(await sending(dns, [])(1)).toMatchObject(isPrivate)
})

test("the addresses of a host are tried until one answers", async () => {
  const { port, connected } = await receivers("127.0.0.2")
  const send = sending(await names(() => ["127.0.0.3", "127.0.0.2"]), ["127.0.0.0/8"])
  expect(await send(port)).toMatchObject({ kind: "answered", status: 200 })
  expect(connected).toEqual(["127.0.0.2"])
})

test("a host none of whose addresses accepts a connection has refused it", async () => {
  const { port } = await receivers("127.0.0.1")
  const send = sending(await names(() => ["127.0.0.3", "127.0.0.4"]), ["127.0.0.0/8"])
  expect(await send(port)).toMatchObject({ kind: "failed", reason: "connection refused" })
})

test("the certificate must be valid, and for the name in the URL", async () => {
  const { port } = await receivers("127.0.0.2")
  const send = sending(await names(() => ["127.0.0.2"]), ["127.0.0.2"])
  const outcomes = [await send(port, "other.test")]
  setDefaultCACertificates(trusted)
  outcomes.push(await sending(await names(() => ["127.0.0.2"]), ["127.0.0.2"])(port))
  setDefaultCACertificates([...trusted, authority.cert])
  certificate = serverCertificate({ names: ["DNS:hooks.test"], to: Date.now() - 3_600_000 })
  outcomes.push(await send((await receivers("127.0.0.2")).port))
  const reasons = ["of another name", "of an unknown authority", "has expired"]
  expect(outcomes).toMatchObject(reasons.map((reason) => ({ kind: "failed", reason: `certificate ${reason}` })))
})

test("a host that DNS does not know, and a DNS server that does not answer, are failures in time", async () => {
  const dns = await names((name) => (name === "silent.test" ? undefined : []))
  expect(await sending(dns, [])(1, "unknown.test")).toMatchObject({ kind: "failed", reason: "the host has no address" })
  expect(await sending(dns, [], 200)(1, "silent.test")).toMatchObject({ reason: "timed out after 0.2 s" })
  await until(() => dns.questions.includes("silent.test A"))
})
