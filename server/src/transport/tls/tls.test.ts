import { expect, test } from "@jest/globals"
import { namesOf } from "./tls.js"

test.each([
  [undefined, []],
  ["", []],
  ["DNS:a.test, DNS:b.test", ["DNS:a.test", "DNS:b.test"]],
  ["IP Address:127.0.0.1, othername:<unsupported>, DirName:CN = a, DNS:a", ["DNS:a"]],
  ['DNS:"a, DNS:b", email:c', ["DNS:a, DNS:b", "email:c"]],
  ['URI:"\\"\\u0041\\""', ['URI:"A"']],
  ['DNS:a, DNS:"b', []],
  ['DNS:"a"DNS:b', []],
  ['DNS:"\\x"', []],
  ["DNS:a,DNS:b", []],
  ["DNS:a, ", ["DNS:a"]],
])("the names in %j are %j", (subjectAltName, expected) => {
  expect(namesOf(subjectAltName)).toEqual(expected)
})
