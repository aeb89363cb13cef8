import { Gauge, type Registry } from "prom-client"

type Labels = Readonly<Record<string, string>>

/** Sets the function that returns a load, which is called at each scrape. */
export type SetLoad<Load> = (load: () => Load, labels?: Labels) => void

/** Creates gauges of a load. @returns the function that sets its source; several sources differ in their labels. */
export function loadGauges<Load>(
  registers: Registry[],
  gauges: readonly (readonly [name: string, help: string, read: (load: Load) => number])[],
  labelNames: string[] = [],
): SetLoad<Load> {
  const sources: { load: () => Load; labels: Labels }[] = []
  for (const [name, help, read] of gauges) {
    new Gauge({
      ...{ name, help, labelNames, registers },
      collect() {
        for (const { load, labels } of sources) this.set(labels, read(load()))
      },
    })
  }
  return (load, labels = {}) => void sources.push({ load, labels })
}
