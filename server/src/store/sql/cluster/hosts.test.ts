import { expect, test } from "@jest/globals"
import { urlsOfHosts } from "./hosts.js"

test.each([
  ["mysql://u:p@h1:3306,h2:3307/db", ["mysql://u:p@h1:3306/db", "mysql://u:p@h2:3307/db"]],
  ["mysql://a%2Cb:p,q@h1,[::1]:1/db?x=y", ["mysql://a%2Cb:p,q@h1/db?x=y", "mysql://a%2Cb:p,q@[::1]:1/db?x=y"]],
  ["mariadb://h1,h2/db", ["mariadb://h1/db", "mariadb://h2/db"]],
  ["mysql://u:p,q@h1:3306/db", ["mysql://u:p,q@h1:3306/db"]],
  ["sqlite:a,b.db", ["sqlite:a,b.db"]],
  ["nothing,of,the,sort", ["nothing,of,the,sort"]],
])("%s", (url, urls) => {
  expect(urlsOfHosts(url)).toEqual(urls)
})

test.each([
  ["mysql://u:hunter2@h1,,h2/db", /an empty host name/],
  ["mysql://u:hunter2@h1,/db", /an empty host name/],
  ["mysql://u:hunter2@h1,h2/db?socket=/run/sock", /a socket/],
  ["mysql://u:hunter2@h1,h2/db?ssl-mode=REQUIRED&socketPath=/run/sock", /a socket/],
])("%s is rejected, without quoting it", (url, message) => {
  expect(() => urlsOfHosts(url)).toThrow(TypeError)
  expect(() => urlsOfHosts(url)).toThrow(message)
  expect(() => urlsOfHosts(url)).not.toThrow(/hunter2/)
})
