import { cookies } from "next/headers"
import { adapter } from "./adapter.js"

/** A page that shows the name of the signed-in user. */
export default async function SessionPage() {
  const token = (await cookies()).get("session")?.value ?? ""
  const found = await adapter.getSessionAndUser(token)
  return `signed in: ${found?.user.name ?? "nobody"}`
}
