import { describe, expect, test } from "@jest/globals"
import { brokenRule } from "./destination.js"
import { isGlobal } from "./networks.js"

const nowhere = { dev: false, allowPrivate: [] }

/** Hosts that are addresses of no public machine, in all the ways in which they can be written. */
const privateHosts = [
  ...[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
  ],
  ...["0x7F.0x0.0x0.0x1", "%31%32%37.0.0.1", "１２７.０.０.１", "①②⑦.0.0.1", "127。0。0。1", "127.255.255.254"],
  ...[
    "0",
    "0.0.0.0",
    "0x0",
    "00000.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "%6cocalhost",
    "ｌocalhost",
  ],
  ...["10.0.0.1", "0xa000001", "012.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "0xc0a80001", "3232235521"],
  ...[
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "169.254.43518",
    "0251.0376.0251.0376",
    "100.64.0.1",
    "100.100.100.200",
  ],
  ...["192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16"],
  ...["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ...["[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0.0.0.1]"],
  ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7f00:0001]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]"],
  ...["[::127.0.0.1]", "[::7f00:1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a00:1]"],
  ...["[64:ff9b::169.254.169.254]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001::1]"],
  ...[
    "[2001:0:7f00:1::80ff:fffe]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[5f00::1]",
  ],
  ...["[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[ff0e::1]", "[1::1]"],
  ...["[4000::1]", "[8000::1]"],
]

describe("a URL of a webhook", () => {
  test.each(privateHosts)("S-61: may not name the private address %s, on any port", (host) => {
    for (const rest of ["/", ":8443/a?b"]) {
      expect(brokenRule(`https://${host}${rest}`, nowhere)).toMatch(/^must not be a private address/)
    }
  })

  test.each([
    ["http://hooks.example.com/", "must be a URL with https://"],
    ["http://127.0.0.1/", "must be a URL with https://"],
    ["ftp://hooks.example.com/", "must be a URL with https://"],
    ["file:///etc/passwd", "must be a URL with https://"],
    ["unix:/run/docker.sock", "must be a URL with https://"],
    ["hooks.example.com", "must be a URL with https://"],
    ["https:hooks.example.com", "must be a URL with https://"],
    ["https:\\\\hooks.example.com", "must be a URL with https://"],
    ["https:///hooks.example.com", "must be a URL with https://"],
    [" https://hooks.example.com", "must be a URL with https://"],
    ["https://hooks.example.com/\r\nx: y", "must be a URL with https://"],
    ["https://hooks.exa\tmple.com/", "must be a URL with https://"],
    ["https://", "must be a URL with https://"],
    ["https://256.1.1.1/", "must be a URL with https://"],
    ["https://[fe80::1%25eth0]/", "must be a URL with https://"],
    ["https://[::ffff:127.0.0.1", "must be a URL with https://"],
    ["https://hooks.example.com:65536/", "must be a URL with https://"],
    ["https://hooks.example.com:0/", "must not have port 0"],
    ["https://user@hooks.example.com/", "must not contain a user name or a password"],
    ["https://:secret@hooks.example.com/", "must not contain a user name or a password"],
    ["https://hooks.example.com/#a", "must not contain a fragment"],
    ["https://hooks.example.com/#", "must not contain a fragment"],
    [`https://hooks.example.com/${"é".repeat(1012)}`, "must have at most 2048 bytes"],
  ])("%j %s", (url, rule) => {
    expect(brokenRule(url, nowhere)).toBe(rule)
  })

  test.each([
    "https://hooks.example.com",
    "HTTPS://hooks.example.com:8443/a/b?c=d",
    `https://hooks.example.com/${"é".repeat(1011)}`,
    "https://bücher.example/",
    "https://localhost.example.com/",
    "https://notlocalhost/",
    "https://8.8.8.8/",
    "https://172.32.0.1/",
    "https://100.128.0.1/",
    "https://[2606:4700::1111]/",
    "https://[64:ff9b::8.8.8.8]/",
  ])("may be %s", (url) => {
    expect(brokenRule(url, nowhere)).toBeUndefined()
  })

  test("may name exactly the private addresses that the operator names, in every form", () => {
    const egress = { dev: false, allowPrivate: ["10.1.0.0/16", "fd00::5", "192.168.7.1"] }
    const rules = (...hosts: string[]) => hosts.map((host) => brokenRule(`https://${host}/`, egress) === undefined)
    expect(rules("10.1.255.255", "[::ffff:10.1.0.1]", "0x0a010001", "[fd00:0::0005]", "192.168.7.1")).not.toContain(
      false,
    )
    expect(rules("10.2.0.0", "10.0.255.255", "[fd00::6]", "192.168.7.2", "127.0.0.1", "localhost")).not.toContain(true)
    expect(brokenRule("http://10.1.0.1/", egress)).toBe("must be a URL with https://")
  })

  test("may be plain HTTP, or on loopback, in development only", () => {
    const egress = { dev: true, allowPrivate: ["10.0.0.0/8"] }
    for (const host of ["127.0.0.1:3000", "localhost:3000", "[::1]:3000", "127.9.9.9"]) {
      for (const scheme of ["http", "https"]) expect(brokenRule(`${scheme}://${host}/`, egress)).toBeUndefined()
    }
    for (const host of ["hooks.example.com", "10.0.0.1", "8.8.8.8", "0.0.0.0", "127.0.0.1.example.com"]) {
      expect(brokenRule(`http://${host}/`, egress)).toMatch(
        /^must be a URL with https:\/\/, or with http:\/\/ and a loop/,
      )
    }
    expect(brokenRule("https://192.168.0.1/", egress)).toMatch(/^must not be a private address/)
  })
})

test("S-61: what is not an address, or has a zone, is not a global one", () => {
  for (const text of ["", "x", "127.1", "8.8.8.8 ", "08.8.8.8", "fe80::1%eth0", "8.8.8.8/32"]) {
    expect(isGlobal(text)).toBe(false)
  }
  expect(isGlobal("8.8.8.8")).toBe(true)
})
