/**
 * What keeps answers out of every cache on their way, since one that is kept would sign in a session that is revoked.
 * The mode of `fetch` that forbids it, if the runtime takes it: early versions of workerd throw at the field.
 */
export const cacheMode: RequestCache | undefined = findCacheMode()

function findCacheMode(): RequestCache | undefined {
  // Next.js throws at "no-store" under `fetchCache = "only-cache"`, and takes both alike otherwise. Its bundler puts the
  // value here: there need not be a `process`.
  const mode = typeof process !== "undefined" && process.env.NEXT_RUNTIME ? "no-cache" : "no-store"
  try {
    return new Request("http://localhost", { cache: mode }).cache === mode ? mode : undefined
  } catch {
    return undefined
  }
}

/** Counts the requests of this process: two may be made at the same instant. */
let requests = 0

/**
 * The value of a header that never repeats, because `fetchCache = "force-cache"` of Next.js overrides every mode: its cache
 * finds an answer by the headers too. It is made of the clock, since Next.js ends the prerendering of a page that takes a
 * random number; in another process, the same value could only be one of the same moment.
 */
export function nonce(): string {
  return `${performance.timeOrigin + performance.now()}-${++requests}`
}
