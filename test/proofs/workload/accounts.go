package workload

import (
	"context"
	"fmt"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// accounts link two accounts to one of two users each, and unlink them.
var accounts = Workload{Model: models.Accounts, Prepare: func(c *caller) error {
	return createUsers(c, 2)
}, Step: func(c *caller) {
	methods := []string{"link", "link", "link", "unlink", "unlink", "get", "get", "getUser"}
	callAccounts(c, history.Call{Key: c.key(), Method: methods[c.random.Intn(len(methods))], Who: c.random.Intn(2)})
}, Last: func(c *caller) {
	for _, method := range []string{"link", "unlink", "link", "get"} {
		callAccounts(c, history.Call{Key: c.round.id + "-0", Method: method})
	}
}}

func callAccounts(c *caller, call history.Call) {
	if call.Method == "link" {
		call.Value = fmt.Sprint("access-token-", c.round.value())
	} else {
		call.Who = 0
	}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		client := authwirev1.NewAccountServiceClient(via)
		var answer interface{ GetAccount() *authwirev1.Account }
		var err error
		switch call.Method {
		case "link":
			answer, err = client.LinkAccount(ctx, &authwirev1.LinkAccountRequest{
				UserId: idOf(c.round.id, call.Who), Type: authwirev1.AccountType_ACCOUNT_TYPE_OIDC,
				Provider: "provider", ProviderAccountId: call.Key, AccessToken: &call.Value,
			})
		case "unlink":
			answer, err = client.UnlinkAccount(ctx, &authwirev1.UnlinkAccountRequest{Provider: "provider", ProviderAccountId: call.Key})
		case "get":
			answer, err = client.GetAccount(ctx, &authwirev1.GetAccountRequest{Provider: "provider", ProviderAccountId: call.Key})
		case "getUser":
			answer, err := authwirev1.NewUserServiceClient(via).GetUserByAccount(ctx,
				&authwirev1.GetUserByAccountRequest{Provider: "provider", ProviderAccountId: call.Key})
			if err != nil {
				return history.Answer{}, err
			}
			return history.Answer{Who: whoIs(answer.GetUser().GetId())}, nil
		}
		if err != nil {
			return history.Answer{}, err
		}
		account := answer.GetAccount()
		return history.Answer{Who: whoIs(account.GetUserId()), Value: account.GetAccessToken()}, nil
	})
}

// createUsers creates the users of a round, whose ids are those of idOf.
func createUsers(c *caller, count int) error {
	for who := range count {
		if err := createUser(c, idOf(c.round.id, who)); err != nil {
			return err
		}
	}
	return nil
}
