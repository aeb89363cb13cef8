import { describe, expect, test } from "@jest/globals"
import { html } from "./html.js"

describe("html", () => {
  test("escapes values in text and in quoted attributes", () => {
    const name = `<script>alert("1 & '2'")</script>`
    expect(html`<p title="${name}">${name}</p>`.markup).toBe(
      '<p title="&lt;script&gt;alert(&quot;1 &amp; &#39;2&#39;&quot;)&lt;/script&gt;">' +
        "&lt;script&gt;alert(&quot;1 &amp; &#39;2&#39;&quot;)&lt;/script&gt;</p>",
    )
  })

  test("keeps markup that it made itself, alone or in a list", () => {
    expect(html`<ul>${["a", "<b>"].map((item) => html`<li>${item}</li>`)}</ul>`.markup).toBe(
      "<ul><li>a</li><li>&lt;b&gt;</li></ul>",
    )
    expect(html`${html`<hr>`}`.markup).toBe("<hr>")
  })

  test("leaves nothing for absent values", () => {
    expect(html`[${undefined}${null}${false}]`.markup).toBe("[]")
    expect(html`${0}`.markup).toBe("0")
  })
})
