package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
)

// vectors is the file token/vectors.json: tokens that @auth/core created, and the expected results.
type vectors struct {
	Valid []struct {
		vector
		Payload map[string]any
	}
	Refused []struct {
		vector
		Code string
	}
	Requests []struct {
		Name         string
		Headers      [][2]string
		CookieName   *string
		SecureCookie *bool
		Salt         *string
		Secrets      []string
		Raw          bool
		Payload      any
	}
}

type vector struct {
	Name    string
	Secrets []string
	Salt    string
	Token   string
	Clock   string
}

// vectors sends the vectors of the file to the service and counts the results. It skips those that need a frozen clock.
func (e *example) vectors(ctx context.Context, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all vectors
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	passed, failed, leftOut := 0, 0, 0
	check := func(name string, got, want any) {
		if reflect.DeepEqual(got, want) {
			passed++
			return
		}
		failed++
		fmt.Printf("failed: %s: got %v, want %v\n", name, got, want)
	}

	for _, v := range all.Valid {
		if v.Clock == "frozen" {
			leftOut++
			continue
		}
		payload, err := e.decodeVector(ctx, v.vector)
		if err != nil {
			check(v.Name, err.Error(), v.Payload)
		} else {
			check(v.Name, payload, v.Payload)
		}
	}
	for _, v := range all.Refused {
		if v.Clock == "frozen" {
			leftOut++
			continue
		}
		_, err := e.decodeVector(ctx, v.vector)
		check(v.Name, reason(err), v.Code)
	}
	for _, v := range all.Requests {
		check(v.Name, e.getTokenVector(ctx, &authwirev1.GetTokenRequest{
			Headers: headers(v.Headers), CookieName: v.CookieName, SecureCookie: v.SecureCookie, Salt: v.Salt,
			Secrets: v.Secrets, Raw: v.Raw,
		}), v.Payload)
	}
	fmt.Printf("%d passed, %d failed, %d left out\n", passed, failed, leftOut)
	if failed > 0 {
		return fmt.Errorf("%d vectors failed", failed)
	}
	return nil
}

func (e *example) decodeVector(ctx context.Context, v vector) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := &authwirev1.DecodeRequest{Token: v.Token, Salt: v.Salt, Secrets: v.Secrets}
	answer, err := e.tokens.Decode(ctx, request)
	return answer.GetPayload().AsMap(), err
}

// getTokenVector returns the claims, the raw token, nil, or the text of an error, for comparison with the vector.
func (e *example) getTokenVector(ctx context.Context, request *authwirev1.GetTokenRequest) any {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := e.tokens.GetToken(ctx, request)
	switch result := answer.GetResult().(type) {
	case *authwirev1.GetTokenResponse_Payload:
		return result.Payload.AsMap()
	case *authwirev1.GetTokenResponse_Raw:
		return result.Raw
	}
	if err != nil {
		return err.Error()
	}
	return nil
}

func headers(pairs [][2]string) []*authwirev1.Header {
	headers := make([]*authwirev1.Header, len(pairs))
	for i, pair := range pairs {
		headers[i] = &authwirev1.Header{Name: pair[0], Value: pair[1]}
	}
	return headers
}
