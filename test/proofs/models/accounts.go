package models

import (
	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

type account struct {
	user int
	// The access token. Empty: the account is not linked.
	token string
}

// Accounts are linked to one user at most. A link by the same user replaces the tokens.
//
//	link:    Who is the user, Value the access token.
//	unlink:  the answer shows the account as it was.
//	get:     the answer shows user and access token.
//	getUser: the answer shows the user.
var Accounts = model("accounts", func(s account, call history.Call, _ history.Answer) (history.Answer, account) {
	linked := s.token != ""
	shown := history.Answer{Who: s.user, Value: s.token}
	switch {
	case call.Method == "link" && linked && s.user != call.Who:
		return history.Answer{Reason: "ACCOUNT_LINKED_TO_ANOTHER_USER"}, s
	case call.Method == "link":
		return history.Answer{Who: call.Who, Value: call.Value}, account{call.Who, call.Value}
	case call.Method == "getUser" && linked:
		return history.Answer{Who: s.user}, s
	case call.Method == "getUser":
		return history.Answer{Reason: "USER_NOT_FOUND"}, s
	case !linked:
		return history.Answer{Reason: "ACCOUNT_NOT_FOUND"}, s
	case call.Method == "unlink":
		return shown, account{}
	}
	return shown, s
}, func(operations []porcupine.Operation) []Lie {
	return outdated(operations, func(write, read history.Call) bool {
		return write.Key == read.Key && (write.Method == "link" || write.Method == "unlink")
	})
})
