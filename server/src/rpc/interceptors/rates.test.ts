import { expect, test } from "@jest/globals"
import { readConfiguration } from "../../config/configuration.js"
import { options } from "../../config/options.js"
import { readRates } from "./rate-limit.js"

test("a list of methods and their rates", () => {
  expect(readRates("")).toEqual({})
  expect(readRates(" TokenService.Encode=50, UserService.CreateUser = 0,PipelineService.Pipeline=7")).toEqual({
    "TokenService.Encode": 50,
    "UserService.CreateUser": 0,
    "PipelineService.Pipeline": 7,
  })
})

test.each([
  ["TokenService.Encode", "must be a list"],
  ["TokenService.Encode=", "must be a list"],
  ["TokenService.Encode=-1", "must be a list"],
  ["TokenService.Encode=1.5", "must be a list"],
  ["TokenService/Encode=1", "must be a list"],
  ["Health.Check=1", "no method Health.Check"],
  ["TokenService.Encod=1", "no method TokenService.Encod"],
  ["constructor.name=1", "no method constructor.name"],
])("%s is rejected", (text, rule) => {
  expect(() => readRates(text)).toThrow(rule)
})

test("the default names existing methods, and the error for a wrong value names its option", async () => {
  const read = async (environment: Record<string, string>) =>
    (await readConfiguration("serve", { dev: true }, environment)).rateLimitOverrides
  expect(await read({})).toEqual({
    "VerificationTokenService.UseVerificationToken": 200,
    "UserService.GetUserByEmail": 1000,
  })
  expect(options.rateLimit.default).toBe("20000")
  const wrong = read({ AUTHWIRE_RATE_LIMIT_OVERRIDES: "x" })
  await expect(wrong).rejects.toThrow(/^AUTHWIRE_RATE_LIMIT_OVERRIDES: must be a list/)
})
