/**
 * The environment of a process whose JavaScript sees another wall clock than the machine's: ahead by `off` ms until
 * SIGUSR2. From then on each reading shows that the clock was set by `step` ms since the reading before, so it is set
 * during everything whose duration it could be used for.
 */
export function otherClock({ off = 0, step = 0 }: { off?: number; step?: number }) {
  const program = `
    const Right = Date
    let [off, step] = [${off}, 0]
    globalThis.Date = class Date extends Right {
      constructor(...parts) {
        super(...(parts.length === 0 ? [Date.now()] : parts))
      }
      static now() { return Right.now() + (off += step) }
    }
    process.on("SIGUSR2", () => { [off, step] = [0, ${step}] })`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}
