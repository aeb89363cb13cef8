import { describe, expect, test } from "@jest/globals"
import { createTransport, type SendMailOptions } from "nodemailer"
import { parseMail } from "./mail.js"

const received = new Date("2030-01-02T03:04:05.678Z")

/** Writes the mail with the library that Auth.js uses, so that the parser is not tested against itself. */
async function written(options: SendMailOptions) {
  const transport = createTransport({ streamTransport: true, buffer: true })
  const { message } = await transport.sendMail({ from: "a@example.com", to: "b@example.com", ...options })
  return parseMail((message as Buffer).toString("latin1"), ["b@example.com"], received)
}

describe("parseMail", () => {
  test("the plain text of a mail with text and HTML", async () => {
    const link = `https://example.com/callback?token=${"0123456789abcdef".repeat(8)}&email=b%40example.com`
    const mail = await written({
      subject: "Sign in",
      text: `Sign in\n${link}\n`,
      html: `<a href="${link}">Sign in</a>`,
    })
    expect(mail).toMatchObject({ to: ["b@example.com"], subject: "Sign in", receivedAt: "2030-01-02T03:04:05.678Z" })
    expect(mail.text.split(/\s+/)).toContain(link)
  })

  test.each(["quoted-printable", "base64"] as const)("letters beyond ASCII, %s", async (textEncoding) => {
    const text = "Grüße = 100 % – дa 🎈\n".repeat(10)
    const mail = await written({ subject: "Grüße – 🎈 ".repeat(8).trim(), text, textEncoding })
    expect(mail.subject).toBe("Grüße – 🎈 ".repeat(8).trim())
    expect(mail.text.replaceAll("\r\n", "\n").trim()).toBe(text.trim())
  })

  test("a mail without text is empty, and anything else is no crash", async () => {
    expect((await written({ subject: "x", html: "<p>only HTML</p>" })).text).toBe("")
    expect(parseMail("", [], received)).toMatchObject({ subject: "", text: "" })
    expect(parseMail("no headers at all", [], received)).toMatchObject({ subject: "", text: "" })
  })
})
