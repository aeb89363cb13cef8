package models

import (
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/authwire/authwire/test/proofs/history"
)

// SessionsOfUser is how many sessions a user has in a history at most. Each token is used for one session only.
const SessionsOfUser = 10

type session struct {
	// What the session holds. Empty: there is none.
	value string
	// Whether it was ended by revokeAll. Its row is left until another call deletes it. The row of a session that was
	// being created when revokeAll returned appears even later, and is ended from its beginning.
	ended bool
}

type signIns struct {
	disabled bool
	sessions [SessionsOfUser]session
}

// Sessions are those of a user. None is found after a call that deletes, revokes or disables has returned, on any replica.
//
//	create, update: Who is the session, Value what it holds.
//	get:            the answer shows what it holds.
//	delete, revoke: the answer shows what it held. revoke finds it by its id, and succeeds if there is none.
//	revokeUser:     ends all sessions of the user. The answer has their number.
//	revokeAll:      ends the sessions of all users; without a key.
//	disable:        ends all sessions of the user, and refuses new ones. The answer has the number of sessions.
//	enable:         allows new ones.
var Sessions = model("sessions", func(s signIns, call history.Call, given history.Answer) (history.Answer, signIns) {
	it := &s.sessions[call.Who]
	found := it.value != "" && !it.ended
	// So a call that deletes may find the row of an ended session or not.
	if it.ended && (call.Method == "delete" || call.Method == "revoke") {
		found = given.Value != ""
	}
	shown := history.Answer{Value: it.value}
	missing := history.Answer{Reason: "SESSION_NOT_FOUND"}
	switch call.Method {
	case "create":
		if s.disabled {
			return history.Answer{Reason: "USER_DISABLED"}, s
		}
		*it = session{value: call.Value}
		return history.Answer{Value: call.Value}, s
	case "get":
		if !found {
			return missing, s
		}
	case "update":
		if !found {
			return missing, s
		}
		it.value = call.Value
		return history.Answer{Value: call.Value}, s
	case "delete", "revoke":
		switch {
		case found:
			*it = session{}
		case call.Method == "revoke":
			return history.Answer{}, s
		default:
			return missing, s
		}
	case "revokeUser", "disable":
		shown = ended(s.sessions, given)
		s.disabled = s.disabled || call.Method == "disable"
		for i := range s.sessions {
			if !s.sessions[i].ended {
				s.sessions[i] = session{}
			}
		}
	case "revokeAll":
		for i := range s.sessions {
			s.sessions[i].ended = s.sessions[i].value != ""
		}
		return history.Answer{}, s
	case "enable":
		s.disabled = false
		return history.Answer{}, s
	}
	return shown, s
}, func(operations []porcupine.Operation) []Lie {
	return outdated(operations, func(write, read history.Call) bool {
		switch write.Method {
		case "create", "update", "delete", "revoke":
			return write.Key == read.Key && write.Who == read.Who
		case "revokeUser", "disable":
			return write.Key == read.Key
		}
		return write.Method == "revokeAll"
	})
})

// ended returns the number of sessions that a call deletes. It may include rows that revokeAll has left.
func ended(sessions [SessionsOfUser]session, given history.Answer) history.Answer {
	alive, left := 0, 0
	for _, session := range sessions {
		if session.ended {
			left++
		} else if session.value != "" {
			alive++
		}
	}
	if count := number(given.Value); given.Reason == "" && count > alive && count <= alive+left {
		return given
	}
	return history.Answer{Value: strconv.Itoa(alive)}
}
