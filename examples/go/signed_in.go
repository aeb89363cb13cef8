package main

import (
	"context"
	"net/http"
	"strings"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// identity is the signed-in user. By is the kind of session.
type identity struct {
	UserID string  `json:"userId"`
	Name   *string `json:"name"`
	Email  *string `json:"email"`
	By     string  `json:"by"`
}

// whoIsSignedIn returns the user of a request, or nil if the request has no valid session. It works for database
// sessions and JWT sessions. After an error the result is unknown: an outage must never look like a sign-out.
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

// text returns the string value of a claim, or nil if the claim is absent, null or of another type.
func text(claim *structpb.Value) *string {
	if text, ok := claim.GetKind().(*structpb.Value_StringValue); ok {
		return &text.StringValue
	}
	return nil
}
