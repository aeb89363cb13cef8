// What `authwire serve --workers` starts; not a command.
import { worker } from "../dist/cluster/worker.js"

await worker()
