import { AuthwireError } from "@authwire/client"
import { describeAdapter } from "@authwire/test-support/processes/adapter.js"
import { expect, test } from "@jest/globals"

describeAdapter("errors", (on) => {
  test("an error has method, code and reason, and no data of the request", async () => {
    const user = await on.newUser({ email: "private@example.com" })
    const error = await on.newUser({ id: user.id, email: "private@example.com" }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AuthwireError)
    expect(String(error)).toContain("createUser")
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain("private@example.com")
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(user.id)
  })
})
