// The part of cli-progress that is used. The package has no types.
declare module "cli-progress" {
  export class SingleBar {
    constructor(options: {
      format: string
      stream: NodeJS.WriteStream
      noTTYOutput: boolean
      etaBuffer: number
      hideCursor: boolean
      etaAsynchronousUpdate: boolean
    })
    start(total: number, value: number): void
    increment(count: number): void
    stop(): void
  }
}
