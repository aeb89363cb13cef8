import { describe, expect, test } from "@jest/globals"
import { AuthwireError } from "../errors/error.js"
import { SessionUnavailable } from "./unavailable.js"
import { unavailableResponse } from "./unavailable-response.js"

const error = (retryAfterMs: number) =>
  new SessionUnavailable(new AuthwireError({ code: "UNAVAILABLE", detail: "down", retryAfterMs }))
const asking = (accept: string) => new Request("https://shop.example/", { headers: { accept } })

describe("the response during an outage", () => {
  test.each([
    ["of a browser", asking("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), "text/html; charset=utf-8"],
    ["of fetch", asking("*/*"), "application/json"],
    ["that is not given", undefined, "application/json"],
  ])("to a request %s", async (_, request, type) => {
    const response = unavailableResponse(error(7_000), request)
    const { status, headers } = response
    expect([status, headers.get("retry-after"), headers.get("cache-control")]).toEqual([503, "7", "no-store"])
    expect(headers.get("content-type")).toBe(type)
    expect(await response.text()).toContain("You have not been signed out.")
  })

  test.each([
    ["https://shop.example/api/auth/callback/github?code=used&state=s", "GET", '<a href="/api/auth/signin">'],
    ["https://shop.example/api/auth/callback/email?token=t", "GET", '<a href="">'],
    ["/auth/callback/credentials", "POST", '<a href="/auth/signin">'],
  ])("leads back from %s, %s", async (url, method, link) => {
    const text = await unavailableResponse(error(1_000), { url, method, headers: { accept: "text/html" } }).text()
    expect(text).toContain(link)
    expect(text).not.toContain("refresh")
  })

  test("is for the script of SvelteKit an action that failed", async () => {
    const headers = { accept: "application/json", "x-sveltekit-action": "true" }
    const response = unavailableResponse(
      error(1_000),
      new Request("https://shop.example/", { method: "POST", headers }),
    )
    const message = "We cannot check your session at the moment. You have not been signed out."
    expect([response.status, await response.json()]).toEqual([503, { type: "error", error: { message } }])
  })

  test.each([
    [1_000, 5],
    [30_000, 30],
  ])("reloads the page after at least five seconds: %p ms, %p s", async (retryAfterMs, seconds) => {
    const text = await unavailableResponse(error(retryAfterMs), asking("text/html")).text()
    expect(text).toContain(`<meta http-equiv="refresh" content="${seconds}">`)
  })
})
