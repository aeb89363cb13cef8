package models

import (
	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// UsersOfKey is the number of users who compete for the same addresses.
const UsersOfKey = 2

type user struct{ name, email string }

// Users have an id and an address that no other user has. A read shows exactly what was written. An update with an etag
// succeeds only if the user is as it was when the caller read it.
//
//	create:     Who is the id, Value the name.
//	update:     the same; Value replaces the name, and Email the address unless it is empty. If is the name that the user
//	            had when the caller read the etag. Every update writes another name, so every update changes the etag.
//	get:        Who is the id.
//	getByEmail: Email is the address.
//	delete:     Who is the id. The answer shows the user as it was.
var Users = model("users", func(s [UsersOfKey]user, call history.Call, given history.Answer) (history.Answer, [UsersOfKey]user) {
	it := s[call.Who]
	hasEmail := func() int {
		for i, other := range s {
			if other.email == call.Email {
				return i
			}
		}
		return -1
	}
	switch call.Method {
	case "create", "update":
		var reasons []string
		if call.Method == "create" && it.name != "" {
			reasons = append(reasons, "USER_ALREADY_EXISTS")
		}
		if call.Method == "update" && it.name == "" {
			return history.Answer{Reason: "USER_NOT_FOUND"}, s
		}
		if call.If != "" && it.name != call.If {
			reasons = append(reasons, "STALE_ETAG")
		}
		if i := hasEmail(); call.Email != "" && i >= 0 && (i != call.Who || call.Method == "create") {
			reasons = append(reasons, "EMAIL_ALREADY_EXISTS")
		}
		if len(reasons) > 0 {
			return refusal(reasons, given), s
		}
		it.name = call.Value
		if call.Email != "" {
			it.email = call.Email
		}
		s[call.Who] = it
		return history.Answer{Value: it.name, Email: it.email, Who: call.Who}, s
	case "getByEmail":
		i := hasEmail()
		if i < 0 {
			return history.Answer{Reason: "USER_NOT_FOUND"}, s
		}
		return history.Answer{Value: s[i].name, Email: s[i].email, Who: i}, s
	}
	if it.name == "" {
		return history.Answer{Reason: "USER_NOT_FOUND"}, s
	}
	if call.Method == "delete" {
		s[call.Who] = user{}
	}
	return history.Answer{Value: it.name, Email: it.email, Who: call.Who}, s
}, func(operations []porcupine.Operation) []Lie {
	lies := outdated(operations, func(write, read history.Call) bool {
		return write.Key == read.Key && write.Who == read.Who && (write.Value != "" || write.Method == "delete")
	})
	return append(lies, sameEtagTwice(operations)...)
})

// sameEtagTwice lets a second update with an etag succeed.
func sameEtagTwice(operations []porcupine.Operation) (lies []Lie) {
	for _, first := range operations {
		for position, second := range operations {
			one, other := callOf(first), callOf(second)
			if one.If != "" && one.If == other.If && succeeded(first) && answerOf(second).Reason == "STALE_ETAG" {
				lies = append(lies, Lie{position, history.Answer{Value: other.Value, Email: answerOf(first).Email, Who: other.Who}})
			}
		}
	}
	return lies
}

// refusal is one of several reasons that are all true: the one that was given, if it is among them.
func refusal(reasons []string, given history.Answer) history.Answer {
	for _, reason := range reasons {
		if reason == given.Reason {
			return given
		}
	}
	return history.Answer{Reason: reasons[0]}
}
