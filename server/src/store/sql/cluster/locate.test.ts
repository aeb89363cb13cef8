import { expect, test } from "@jest/globals"
import { parseDatabaseUrl, type ServerLocation } from "../engine/url/url.js"
import { locator } from "./locate.js"

const at = (url: string) => parseDatabaseUrl(url) as ServerLocation
const named = at("mysql://authwire@members.test:3307/authwire")
const both = [{ address: "192.0.2.1" }, { address: "192.0.2.2" }]
const addressesOf = (addresses: readonly ServerLocation[]) => addresses.map(({ host, address }) => address ?? host)
const never = () => new Promise<never>(() => {})

test("a name with several addresses has one location per address; a name with one address has a single location", async () => {
  expect(addressesOf(await locator([named], async () => both).one(named, 60_000))).toEqual(["192.0.2.1", "192.0.2.2"])
  const one = await locator([named], async () => both.slice(1)).one(named, 60_000)
  expect(one).toEqual([named])
})

test.each(["192.0.2.9", "[2001:db8::9]", "localhost"])("%s is not looked up", async (host) => {
  const location = at(`mysql://authwire@${host}/authwire`)
  expect(await locator([location], never).one(location, 60_000)).toEqual([location])
})

test("a name that is not resolved in time is not treated as a single server", async () => {
  await expect(locator([named], never).one(named, 10)).rejects.toMatchObject({
    failure: "unavailable",
    message: "the name service has not resolved members.test within 10 ms",
  })
  const failing = async () => {
    throw Object.assign(new Error("getaddrinfo EAI_AGAIN members.test"), { code: "EAI_AGAIN" })
  }
  await expect(locator([named], failing).one(named, 60_000)).rejects.toMatchObject({
    failure: "unavailable",
    code: "EAI_AGAIN",
  })
})

test("while a name cannot be resolved, its last known addresses are used", async () => {
  const [other, isSilent] = [at("mysql://authwire@other.test/authwire"), new Set(["other.test"])]
  let found = both
  const addresses = locator([named, other], async (host) => (isSilent.has(host) ? never() : found))
  expect(addressesOf(await addresses.all())).toEqual(["192.0.2.1", "192.0.2.2", "other.test"])
  found = [{ address: "192.0.2.3" }, ...both]
  expect(addressesOf(await addresses.all())).toEqual(["192.0.2.3", "192.0.2.1", "192.0.2.2", "other.test"])
  isSilent.add("members.test")
  expect(addressesOf(await addresses.all())).toEqual(["192.0.2.3", "192.0.2.1", "192.0.2.2", "other.test"])
})
