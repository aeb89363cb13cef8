import { expect, test } from "@jest/globals"
import type { AskedGateway } from "./service.js"

/** Which roles a request needs, and whose they are. */
export function describeRoles({ ask, client, signIn, jwtOf }: AskedGateway): void {
  test("roles: those of the property, compared as whole names", async () => {
    const cases: [property: Record<string, unknown>, settings: Record<string, string>, status: number][] = [
      [{ role: "admin" }, { roles: "admin" }, 200],
      [{ role: "admin" }, { roles: "owner, admin" }, 200],
      [{ roles: ["user", "admin"] }, { roles: "admin" }, 200],
      [{ role: "user", roles: ["admin"] }, { roles: "admin" }, 200],
      [{ groups: ["admin"] }, { roles: "admin", role_property: "groups" }, 200],
      [{ role: "admin" }, { roles: "admin", role_property: "groups" }, 403],
      [{ groups: ["admin"] }, { roles: "admin" }, 403],
      [{}, { roles: "admin" }, 403],
      [{ role: "Admin" }, { roles: "admin" }, 403],
      [{ role: "admin,user" }, { roles: "admin" }, 403],
      [{ role: ["admin"] }, { roles: "admin" }, 200],
      [{ role: { admin: true } }, { roles: "admin" }, 403],
      [{ role: true }, { roles: "true" }, 403],
      [{ name: "admin" }, { roles: "admin", role_property: "name" }, 403],
      [{}, { roles: "toString", role_property: "constructor" }, 403],
    ]
    for (const [property, settings, status] of cases) {
      const { headers } = await signIn(property)
      expect([property, settings, (await ask({ headers, settings })).status]).toEqual([property, settings, status])
      if ("name" in property) continue
      const token = await jwtOf({ sub: "1", ...property })
      const ofClaims = { ...settings, with_user: "false" }
      expect([property, settings, (await ask({ headers: token, settings: ofClaims })).status]).toEqual([
        property,
        settings,
        status,
      ])
    }
    expect(await ask({ settings: { roles: "admin" } })).toEqual({ status: 401, told: {} })
  })

  test("with roles, a JWT counts for what the stored user is now, unless with_user is false", async () => {
    const { userId } = await signIn({ role: "admin", name: "Ada" })
    const headers = await jwtOf({ sub: userId, role: "admin", name: "Eve" })
    const settings = { roles: "admin,user", headers: "x-auth-role=role,x-auth-name=name" }
    const roleOf = async (more = {}) => {
      const { status, told } = await ask({ headers, settings: { ...settings, ...more } })
      return [status, told["x-auth-role"], told["x-auth-name"]]
    }
    expect(await roleOf()).toEqual([200, "admin", "Ada"])
    const updateMask = { paths: ["extra"] }
    await client().users.updateUser({ id: userId, extra: { role: "user" }, updateMask })
    expect(await roleOf()).toEqual([200, "user", "Ada"])
    expect(await roleOf({ roles: "admin" })).toEqual([403, undefined, undefined])
    await client().users.updateUser({ id: userId, extra: { role: null }, updateMask })
    expect(await roleOf()).toEqual([403, undefined, undefined])
    await client().users.deleteUser({ id: userId })
    expect(await roleOf()).toEqual([401, undefined, undefined])
    expect(await roleOf({ with_user: "false" })).toEqual([200, "admin", "Eve"])
    const optional = { policy: "optional", headers: "x-auth-role=role" }
    expect(await ask({ headers, settings: { ...optional, with_user: "true" } })).toEqual({ status: 200, told: {} })
    expect((await ask({ headers, settings: optional })).told).toMatchObject({ "x-auth-role": "admin" })
  })
}
