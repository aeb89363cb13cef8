import { expect, test } from "@jest/globals"
import { claimsKey, formatKey, newKey, parseKey } from "./api-key.js"

const parts = newKey()
const { id, secret } = parts
const key = formatKey(parts)

test.each(["Bearer", "bearer", "BEARER"])("a key is parsed from its header with the scheme %s", (scheme) => {
  expect(parseKey(`${scheme} ${key}`)).toEqual(parts)
  expect(claimsKey(`${scheme} ${key}`)).toBe(true)
})

test.each([
  ["nothing after Bearer", "Bearer"],
  ["something else after Bearer", "Bearer x"],
  ["a session token", `Bearer ${crypto.randomUUID()}`],
  ["a name and a password", `Basic ${btoa("awk:awk")}`],
  ["the key without Bearer", key],
  ["the key behind another word", `Token ${key}`],
  ["two spaces", `Bearer  ${key}`],
  ["a space at the end", `Bearer ${key} `],
  ["the key without its secret", `Bearer awk_${id}`],
  ["the key with an empty secret", `Bearer awk_${id}_`],
  ["the secret alone", `Bearer ${secret}`],
  ["half of the secret", `Bearer awk_${id}_${secret.slice(0, 21)}`],
  ["more than the secret", `Bearer ${key}A`],
  ["the id in capitals", `Bearer awk_${id.toUpperCase()}_${secret}`],
  ["the prefix in capitals", `Bearer ${key.replace("awk", "AWK")}`],
  ["another prefix", `Bearer awx_${id}_${secret}`],
  ["a property of a prototype", `Bearer awk___proto__0000000_${secret}`],
])("%s is no key", (_, header) => {
  expect(parseKey(header)).toBeUndefined()
})
