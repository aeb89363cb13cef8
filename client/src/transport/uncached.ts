/**
 * The value of the `fetch` field `cache` that forbids caching, because a cached response would sign in a revoked
 * session. Undefined if the runtime does not accept the field: early versions of workerd throw if it is set.
 */
export const cacheMode: RequestCache | undefined = findCacheMode()

function findCacheMode(): RequestCache | undefined {
  // Next.js throws at "no-store" under `fetchCache = "only-cache"`, and otherwise treats both values alike. Its bundler
  // inlines the value of the variable. Other runtimes may have no `process`.
  const mode = typeof process !== "undefined" && process.env.NEXT_RUNTIME ? "no-cache" : "no-store"
  try {
    return new Request("http://localhost", { cache: mode }).cache === mode ? mode : undefined
  } catch {
    return undefined
  }
}

/** The number of requests of this process. It distinguishes requests at the same instant. */
let requests = 0

/**
 * Returns a header value that never repeats. It is needed because `fetchCache = "force-cache"` of Next.js overrides
 * every value of `cache`, but the headers are part of its cache key. The value is based on the clock, because Next.js
 * stops prerendering a page that uses a random number. Another process could only create the same value at the same
 * moment.
 */
export function nonce(): string {
  return `${performance.timeOrigin + performance.now()}-${++requests}`
}
