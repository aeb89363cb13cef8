/** Resolves at the first SIGTERM or SIGINT. Later signals end the process at once, which is Node's default. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ["SIGTERM", "SIGINT"] as const
    const stop = (signal: NodeJS.Signals) => {
      for (const one of signals) process.off(one, stop)
      resolve(signal)
    }
    for (const one of signals) process.on(one, stop)
  })
}
