import { getServerSession } from "next-auth"
import { authOptions } from "../auth.js"

export const dynamic = "force-dynamic"

export default async function Page() {
  const session = await getServerSession(authOptions)
  return <p id="user">{session?.user.email ?? "nobody"}</p>
}
