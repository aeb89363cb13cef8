// What `authwire serve --workers` starts; not a command.
import { worker } from "../dist/cli/worker.js"

await worker()
