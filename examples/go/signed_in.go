package main

import (
	"context"
	"net/http"
	"strings"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// identity is who is signed in, and by which kind of session.
type identity struct {
	UserID string  `json:"userId"`
	Name   *string `json:"name"`
	Email  *string `json:"email"`
	By     string  `json:"by"`
}

// whoIsSignedIn finds the user of a request, nil if nobody is signed in, whether the application keeps its sessions in the
// database or in JWTs. After an error it is not known: an outage must never look like a sign-out.
func (e *example) whoIsSignedIn(r *http.Request) (*identity, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	request := &authwirev1.IntrospectRequest{CookieName: &e.cookie}
	for _, name := range []string{"Cookie", "Authorization"} {
		for _, value := range r.Header.Values(name) {
			header := &authwirev1.Header{Name: name, Value: strings.ToValidUTF8(value, "?")}
			request.Headers = append(request.Headers, header)
		}
	}
	answer, err := e.introspection.Introspect(ctx, request)
	if err != nil || !answer.GetActive() {
		return nil, err
	}
	if user := answer.GetUser(); user != nil {
		return &identity{user.GetId(), user.Name, user.Email, "session"}, nil
	}
	claims := answer.GetClaims().GetFields()
	return &identity{answer.GetSub(), text(claims["name"]), text(claims["email"]), "jwt"}, nil
}

// text is the string that a claim holds, nil if it is absent, null or something else.
func text(claim *structpb.Value) *string {
	if text, ok := claim.GetKind().(*structpb.Value_StringValue); ok {
		return &text.StringValue
	}
	return nil
}
