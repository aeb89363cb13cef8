/** The page that a browser shows after it has followed all redirects. */
export interface Page {
  url: URL
  status: number
  text: string
}

/**
 * The features of a browser that signing in needs: cookies by host and path (never by port), redirects, plain forms.
 */
export interface Browser {
  open(url: string | URL): Promise<Page>
  /** Submits the form with that id, or the only form, with its own fields and the given ones. */
  submit(page: Page, form: string | undefined, fields?: Record<string, string>): Promise<Page>
  /** The value of the cookie that would be sent to this URL. */
  cookie(url: string | URL, name: string): string | undefined
  /** Changes the value of the cookie that `cookie` finds. */
  setCookie(url: string | URL, name: string, value: string): void
}

interface Cookie {
  host: string
  path: string
  name: string
  value: string
}

export function createBrowser(): Browser {
  const jar = new Map<string, Cookie>()

  const cookiesFor = (url: URL) =>
    [...jar.values()]
      .filter(({ host, path }) => host === url.hostname && isBelow(url.pathname, path))
      .sort((a, b) => b.path.length - a.path.length)

  const keep = (url: URL, line: string) => {
    const [pair = "", ...attributes] = line.split(/;\s*/)
    const named = (name: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    const name = pair.slice(0, pair.indexOf("="))
    const given = named("path")
    const path = given?.startsWith("/") ? given : url.pathname.replace(/\/[^/]*$/, "") || "/"
    const maxAge = named("max-age")
    const expires = named("expires")
    const gone = maxAge === undefined ? expires !== undefined && Date.parse(expires) <= Date.now() : Number(maxAge) <= 0
    const key = [url.hostname, path, name].join("\n")
    if (gone) jar.delete(key)
    else jar.set(key, { host: url.hostname, path, name, value: pair.slice(pair.indexOf("=") + 1) })
  }

  const request = async (start: URL, form?: URLSearchParams): Promise<Page> => {
    let url = start
    let body = form
    for (let hop = 0; hop < 20; hop++) {
      const cookie = cookiesFor(url).map(({ name, value }) => `${name}=${value}`)
      const response = await fetch(url, {
        method: body ? "POST" : "GET",
        headers: { accept: "text/html", ...(cookie.length > 0 && { cookie: cookie.join("; ") }) },
        redirect: "manual",
        ...(body && { body }),
      })
      for (const line of response.headers.getSetCookie()) keep(url, line)
      const location = response.headers.get("location")
      const text = await response.text()
      if (!location || response.status < 300 || response.status > 399) return { url, status: response.status, text }
      url = new URL(location, url)
      if (response.status < 307) body = undefined
    }
    throw new Error(`Too many redirects, the last to ${url.origin}${url.pathname}`)
  }

  return {
    open: (url) => request(new URL(url)),
    submit(page, form, fields = {}) {
      const { action, own } = readForm(page, form)
      return request(action, new URLSearchParams({ ...own, ...fields }))
    },
    cookie: (url, name) => cookiesFor(new URL(url)).find((cookie) => cookie.name === name)?.value,
    setCookie(url, name, value) {
      const cookie = cookiesFor(new URL(url)).find((one) => one.name === name)
      if (cookie === undefined) throw new Error(`no cookie ${name}`)
      cookie.value = value
    },
  }
}

/** Path matching of RFC 6265, section 5.1.4. */
function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`)
}

function readForm(page: Page, id: string | undefined) {
  const forms = [...page.text.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].filter(
    ([, tag = ""]) => id === undefined || attribute(tag, "id") === id,
  )
  if (forms.length !== 1) throw new Error(`${forms.length} forms ${id ?? ""} at ${page.url.pathname}:\n${page.text}`)
  const [, tag = "", content = ""] = forms[0]!
  const own: Record<string, string> = {}
  for (const [input] of content.matchAll(/<input\b[^>]*>/g)) {
    const name = attribute(input, "name")
    if (name) own[name] = attribute(input, "value") ?? ""
  }
  return { action: new URL(attribute(tag, "action") ?? page.url, page.url), own }
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

/** Returns the text that a browser displays for this markup. */
export function unescapeHtml(markup: string): string {
  const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" }
  return markup.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!)
}

/** The text of the element with that id, or undefined if the page has no such element. */
export function textOf(page: Page, id: string): string | undefined {
  const markup = new RegExp(`<(\\w+)[^>]*\\sid="${id}"[^>]*>(.*?)</\\1>`, "s").exec(page.text)?.[2]
  return markup === undefined ? undefined : unescapeHtml(markup.replace(/<[^>]*>/g, "")).trim()
}
