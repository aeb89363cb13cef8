/**
 * Logs an error with its causes. Auth.js wraps each error once or twice, and the wrappers alone are not informative.
 */
export function logError(error: Error): void {
  const causes: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = innerCause(cause)) {
    const message = cause.message.replace(/(\. )?Read more at \S+$/, "")
    causes.push(message ? `${cause.name}: ${message}` : cause.name)
  }
  console.error(`app: ${causes.join(" <- ")}`)
}

function innerCause({ cause }: Error): unknown {
  return cause && typeof cause === "object" && "err" in cause ? cause.err : cause
}

const warned = new Set<string>()

/** Logs a warning of Auth.js by its code. Auth.js repeats some warnings with every request, so each is logged once. */
export function logWarning(code: string): void {
  if (warned.has(code)) return
  warned.add(code)
  console.error(`app: Auth.js warns: ${code}`)
}
