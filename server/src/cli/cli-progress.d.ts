// As much of cli-progress as is used: it comes without types.
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
