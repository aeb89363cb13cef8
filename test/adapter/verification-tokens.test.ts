import { describeAdapter, failure, inAnHour } from "@authwire/test-support/processes/adapter.js"
import { tokenHash } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"

describeAdapter("verification tokens", (on) => {
  test("are used once, and only with both identifier and token", async () => {
    const given = { identifier: "Ada@example.com", token: crypto.randomUUID(), expires: inAnHour() }
    expect(await on.adapter.createVerificationToken(given)).toEqual(given)
    const rows = await on.rows("SELECT * FROM verification_tokens WHERE identifier = ?", [given.identifier])
    expect(rows).toMatchObject([{ tenant: "default", token_hash: tokenHash(given.token) }])
    expect(JSON.stringify(rows)).not.toContain(given.token)
    expect(await on.adapter.useVerificationToken({ ...given, identifier: "ada@example.com" })).toBeNull()
    expect(await on.adapter.useVerificationToken({ ...given, token: `${given.token}x` })).toBeNull()
    expect(await on.adapter.useVerificationToken(given)).toEqual(given)
    expect(await on.count("verification_tokens", "identifier = ?", [given.identifier])).toBe(0)
    expect(await on.adapter.useVerificationToken(given)).toBeNull()
  })

  test("are returned and deleted even if they have expired", async () => {
    const given = {
      identifier: "a@example.com",
      token: crypto.randomUUID(),
      expires: new Date("2020-01-01T00:00:00.001Z"),
    }
    await on.adapter.createVerificationToken(given)
    expect(await on.adapter.useVerificationToken(given)).toEqual(given)
    expect(await on.count("verification_tokens", "identifier = ?", [given.identifier])).toBe(0)
  })

  test("are not found with a missing address or token", async () => {
    for (const lost of [undefined, null, ""]) {
      const key = { identifier: lost as string, token: "t" }
      expect(await on.adapter.useVerificationToken(key)).toBeNull()
      expect(await on.adapter.useVerificationToken({ identifier: "i", token: lost as string })).toBeNull()
    }
  })

  test("are not created twice", async () => {
    const given = { identifier: "a@example.com", token: crypto.randomUUID(), expires: inAnHour() }
    await on.adapter.createVerificationToken(given)
    await expect(on.adapter.createVerificationToken(given)).rejects.toEqual(
      failure("ALREADY_EXISTS", "VERIFICATION_TOKEN_ALREADY_EXISTS"),
    )
  })
})
