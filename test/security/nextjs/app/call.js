import { adapter } from "./adapter.js"

/** Calls a method of the adapter: `{ method, args }`. Dates are sent as text. */
export async function call(request) {
  const { method, args } = await request.json()
  const revive = (_, value) =>
    typeof value === "string" && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? new Date(value) : value
  try {
    return Response.json({ answer: await adapter[method](...JSON.parse(JSON.stringify(args), revive)) })
  } catch (error) {
    return Response.json({ error: String(error?.message ?? error) }, { status: 500 })
  }
}
