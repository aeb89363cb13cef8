import { testSecret } from "@authwire/test-support/processes/server.js"
import { nextAuth4 } from "@authwire/token"
import { expect, test } from "@jest/globals"
import { type AskedGateway, cookie } from "./service.js"

/** The settings of a gateway: other cookies, the headers of the application, and settings that are invalid. */
export function describeSettings({ ask, signIn }: AskedGateway): void {
  test("with next_auth4, a JWT of next-auth 4", async () => {
    const token = await nextAuth4.encode({ token: { sub: "7" }, secret: testSecret })
    const headers = { cookie: `next-auth.session-token=${token}` }
    expect(await ask({ headers, settings: { next_auth4: "true" } })).toMatchObject({ status: 200 })
    for (const settings of [{}, { next_auth4: "false" }, { cookie_name: "next-auth.session-token" }]) {
      expect(await ask({ headers, settings })).toEqual({ status: 401, told: {} })
    }
  })

  test("another cookie, if the setting names it", async () => {
    const { sessionToken, told } = await signIn()
    const headers = { cookie: `my.session=${sessionToken}` }
    expect(await ask({ headers, settings: { cookie_name: "my.session" } })).toEqual({ status: 200, told })
    expect(await ask({ headers })).toEqual({ status: 401, told: {} })
    const own = { cookie: `${cookie}=${sessionToken}` }
    expect(await ask({ headers: own, settings: { cookie_name: "my.session" } })).toEqual({ status: 401, told: {} })
  })

  test("headers have the configured values, encoded so that nothing is lost or misinterpreted", async () => {
    const user = {
      name: " Zoë, 100%\r\nx-auth-user-id: root ",
      image: "https://example.com/a.png?b=c",
      plan: "gold",
      age: 7,
      beta: true,
      groups: ["a,b", "c"],
      nested: { no: 1 },
      large: "x".repeat(5_000),
      empty: "",
    }
    const { headers, told, email } = await signIn(user)
    const names = Object.keys(user)
    const settings = {
      headers: ["x-auth-email=email", ...names.map((name) => `x-auth-${name}=${name}`), "x-auth-none=none"].join(","),
    }
    const answer = await ask({ headers, settings })
    expect(answer.told).toEqual({
      ...told,
      "x-auth-email": email,
      "x-auth-name": encodeURIComponent(user.name).replaceAll("%3A", ":"),
      "x-auth-image": user.image,
      "x-auth-plan": "gold",
      "x-auth-age": "7",
      "x-auth-beta": "true",
      "x-auth-groups": "a%2Cb,c",
    })
    expect(decodeURIComponent(answer.told["x-auth-name"] as string)).toBe(user.name)
  })

  test.each<[Record<string, string>, string]>([
    [{ policies: "required" }, "contains a setting that is not one of tenant, policy, roles"],
    [JSON.parse('{"__proto__":"x"}'), "contains a setting that is not one of"],
    [{ policy: "Optional" }, "policy must be required or optional"],
    [{ sign_in: "//evil.example" }, "sign_in must be"],
  ])("the settings %j let nobody in", async (settings, words) => {
    const { headers } = await signIn({ role: "admin" })
    await expect(ask({ headers, settings })).rejects.toThrow(words)
    await expect(ask({ headers, settings })).rejects.not.toThrow(/evil/)
  })
}
