// Command example shows how a Go backend uses Authwire. See README.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const usage = `usage: example decode [--cookie NAME] TOKEN             what a token says
       example serve [--cookie NAME] [--listen ADDRESS] answer GET /me with who is signed in
       example user EMAIL                               create a user, or find the one with this address
       example vectors FILE                             run the test vectors of token/vectors.json
The address of Authwire is read from AUTHWIRE_URL; default http://127.0.0.1:50051. Its API key: AUTHWIRE_API_KEY.
With https:// it speaks TLS; AUTHWIRE_TLS_CA is a file of authorities (PEM) to trust in place of the system's.
`

var errUsage = errors.New("wrong usage")

// timeout limits the duration of a call. Without a deadline, a call could wait forever if the network does not respond.
const timeout = 2 * time.Second

// example holds the clients of the services, which share one connection, and the name of the session cookie.
type example struct {
	tokens        authwirev1.TokenServiceClient
	introspection authwirev1.IntrospectionServiceClient
	users         authwirev1.UserServiceClient
	cookie        string
}

// apiKey is sent with every call. An empty key is not sent, as for an Authwire with --dev.
type apiKey string

func (key apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if key == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}

// RequireTransportSecurity returns false, so that an Authwire on the same machine can be used without TLS.
func (apiKey) RequireTransportSecurity() bool { return false }

// security returns TLS credentials for https:// and insecure ones for http://.
func security(scheme, authorities string) (credentials.TransportCredentials, error) {
	switch {
	case scheme != "https":
		return insecure.NewCredentials(), nil
	case authorities != "":
		return credentials.NewClientTLSFromFile(authorities, "")
	}
	return credentials.NewClientTLSFromCert(nil, ""), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("example", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	cookie := flags.String("cookie", "authjs.session-token", "")
	listen := flags.String("listen", "127.0.0.1:8091", "")
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	_ = flags.Parse(args)

	scheme, address, _ := strings.Cut(cmp.Or(os.Getenv("AUTHWIRE_URL"), "http://127.0.0.1:50051"), "://")
	transport, err := security(scheme, os.Getenv("AUTHWIRE_TLS_CA"))
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(transport),
		grpc.WithPerRPCCredentials(apiKey(os.Getenv("AUTHWIRE_API_KEY"))))
	if err != nil {
		return err
	}
	defer connection.Close()
	e := &example{
		tokens:        authwirev1.NewTokenServiceClient(connection),
		introspection: authwirev1.NewIntrospectionServiceClient(connection),
		users:         authwirev1.NewUserServiceClient(connection),
		cookie:        *cookie,
	}

	switch argument := flags.Arg(0); {
	case command == "decode" && flags.NArg() == 1:
		return e.decode(ctx, argument)
	case command == "serve" && flags.NArg() == 0:
		return e.serve(ctx, *listen)
	case command == "user" && flags.NArg() == 1:
		return e.user(ctx, argument)
	case command == "vectors" && flags.NArg() == 1:
		return e.vectors(ctx, argument)
	}
	return errUsage
}

// decode prints the claims of a token. Auth.js uses the name of the cookie as the salt.
func (e *example) decode(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := e.tokens.Decode(ctx, &authwirev1.DecodeRequest{Token: token, Salt: e.cookie})
	switch reason(err) {
	case "TOKEN_EXPIRED":
		return errors.New("the token has expired")
	case "TOKEN_MALFORMED", "TOKEN_ALGORITHM_NOT_ALLOWED", "NO_MATCHING_SECRET":
		return fmt.Errorf("this is not a token of ours (%s)", reason(err))
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer.GetPayload().AsMap())
}

// user creates a user with an e-mail address and reads it back. If the address is taken, it reads the existing user.
func (e *example) user(ctx context.Context, email string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := e.users.CreateUser(ctx, &authwirev1.CreateUserRequest{Email: &email})
	created := err == nil
	if err != nil && reason(err) != "EMAIL_ALREADY_EXISTS" {
		return err
	}
	answer, err := e.users.GetUserByEmail(ctx, &authwirev1.GetUserByEmailRequest{Email: email})
	if err != nil {
		return err
	}
	user := answer.GetUser()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"userId": user.GetId(), "name": user.Name, "email": user.Email, "created": created,
	})
}
