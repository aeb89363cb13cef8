import NextAuth from "next-auth"
import { authOptions } from "../../../auth.js"

export default NextAuth(authOptions)
