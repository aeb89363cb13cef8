// Verifies an assertion of Authwire with nothing but the address of the public keys, and prints its claims.
//
// Usage: identity JWKS_URL ISSUER AUDIENCE, with the header x-authwire-identity on standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

func verify(url, issuer, audience, assertion string) (jwt.MapClaims, error) {
	// One for the process: it reads the keys again every hour, and for a key that it does not know.
	keys, err := keyfunc.NewDefaultCtx(context.Background(), []string{url})
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	// The issuer has the tenant at its end. Without it a user of another tenant would be taken for one of this tenant.
	_, err = jwt.ParseWithClaims(assertion, claims, keys.Keyfunc, jwt.WithValidMethods([]string{"ES256"}),
		jwt.WithIssuer(issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	return claims, err
}

func main() {
	assertion, err := io.ReadAll(os.Stdin)
	if err == nil && len(os.Args) == 4 {
		var claims jwt.MapClaims
		claims, err = verify(os.Args[1], os.Args[2], os.Args[3], strings.TrimSpace(string(assertion)))
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(claims)
		}
	}
	if err != nil || len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}
