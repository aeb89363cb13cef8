/** Writes an error with its causes. Auth.js wraps each once or twice, and the wrapping alone says nothing. */
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

/** Writes a warning of Auth.js, by its code. It gives some of them with every request: once is enough. */
export function logWarning(code: string): void {
  if (warned.has(code)) return
  warned.add(code)
  console.error(`app: Auth.js warns: ${code}`)
}
