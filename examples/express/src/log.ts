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
