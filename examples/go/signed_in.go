package main

import (
	"context"
	"net/http"
	"net/url"
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

// whoIsSignedIn finds the user of a request, nil if nobody is signed in. After an error it is not known: an outage must
// never look like a sign-out. An application has one kind of session, and needs one of the two halves.
func (e *example) whoIsSignedIn(r *http.Request) (*identity, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if who, err := e.byJWT(ctx, r); who != nil || err != nil {
		return who, err
	}
	return e.bySession(ctx, r)
}

// byJWT asks for the claims of the token that the cookie holds, whole or in chunks, or else `Authorization: Bearer`.
func (e *example) byJWT(ctx context.Context, r *http.Request) (*identity, error) {
	request := &authwirev1.GetTokenRequest{CookieName: &e.cookie}
	for _, name := range []string{"Cookie", "Authorization"} {
		for _, value := range r.Header.Values(name) {
			header := &authwirev1.Header{Name: name, Value: strings.ToValidUTF8(value, "?")}
			request.Headers = append(request.Headers, header)
		}
	}
	answer, err := e.tokens.GetToken(ctx, request)
	if err != nil || answer.GetPayload() == nil {
		return nil, err
	}
	claims := answer.GetPayload().GetFields()
	return &identity{claims["sub"].GetStringValue(), text(claims["name"]), text(claims["email"]), "jwt"}, nil
}

// bySession asks for the session in the database that the cookie names, and for its user.
func (e *example) bySession(ctx context.Context, r *http.Request) (*identity, error) {
	cookie, err := r.Cookie(e.cookie)
	if err != nil || cookie.Value == "" {
		return nil, nil
	}
	token, err := url.PathUnescape(cookie.Value)
	if err != nil {
		return nil, nil
	}
	answer, err := e.sessions.GetSessionAndUser(ctx, &authwirev1.GetSessionAndUserRequest{SessionToken: token})
	switch reason(err) {
	case "SESSION_NOT_FOUND", "INVALID_FIELD": // no session has such a token, or can have
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	user := answer.GetUser()
	return &identity{user.GetId(), user.Name, user.Email, "session"}, nil
}

// text is the string that a claim holds, nil if it is absent, null or something else.
func text(claim *structpb.Value) *string {
	if text, ok := claim.GetKind().(*structpb.Value_StringValue); ok {
		return &text.StringValue
	}
	return nil
}
