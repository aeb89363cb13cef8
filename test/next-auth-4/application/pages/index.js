import { getServerSession } from "next-auth"
import { authOptions } from "../auth.js"

export async function getServerSideProps({ req, res }) {
  const session = await getServerSession(req, res, authOptions)
  return { props: { email: session?.user.email ?? "nobody" } }
}

export default ({ email }) => <p id="user">{email}</p>
