package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/authwire/authwire/test/proofs/history"
	"github.com/authwire/authwire/test/proofs/models"
)

// users create, read, change and delete two users who compete for two addresses. Half of the changes have an etag.
var users = Workload{Model: models.Users, Step: func(c *caller) {
	call := history.Call{Key: c.key(), Who: c.random.Intn(models.UsersOfKey)}
	email := call.Key + string(rune('a'+c.random.Intn(models.UsersOfKey))) + "@example.com"
	switch c.random.Intn(9) {
	case 0, 1:
		call.Method, call.Email = "create", email
	case 2, 3, 4:
		call.Method = "update"
		if c.random.Intn(2) == 0 {
			call.Email = email
		}
	case 5:
		call.Method, call.Email, call.Who = "getByEmail", email, 0
	case 6, 7:
		call.Method = "get"
	default:
		call.Method = "delete"
	}
	callUsers(c, call, c.random.Intn(2) == 0)
}, Last: func(c *caller) {
	for _, method := range []string{"create", "update", "update", "get"} {
		key := c.round.id + "-0"
		call := history.Call{Key: key, Method: method}
		if method == "create" {
			call.Email = key + "last@example.com"
		}
		callUsers(c, call, false)
	}
}}

// callUsers makes a call. With an etag, an update requires what some caller has read last.
func callUsers(c *caller, call history.Call, withEtag bool) {
	id := idOf(call.Key, call.Who)
	etag, name, _ := strings.Cut(c.round.recall(id), " ")
	if call.Method == "create" || call.Method == "update" {
		call.Value = fmt.Sprint("name-", c.round.value())
	}
	if withEtag = withEtag && call.Method == "update" && etag != ""; withEtag {
		call.If = name
	}
	c.call(call, func(ctx context.Context, via connection) (history.Answer, error) {
		client := authwirev1.NewUserServiceClient(via)
		var answer interface{ GetUser() *authwirev1.User }
		var err error
		switch call.Method {
		case "create":
			answer, err = client.CreateUser(ctx, &authwirev1.CreateUserRequest{Id: &id, Name: &call.Value, Email: &call.Email})
		case "update":
			request := &authwirev1.UpdateUserRequest{Id: id, Name: &call.Value, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}}}
			if call.Email != "" {
				request.Email, request.UpdateMask.Paths = &call.Email, []string{"name", "email"}
			}
			if withEtag {
				request.Etag = &etag
			}
			answer, err = client.UpdateUser(ctx, request)
		case "getByEmail":
			answer, err = client.GetUserByEmail(ctx, &authwirev1.GetUserByEmailRequest{Email: call.Email})
		case "get":
			answer, err = client.GetUser(ctx, &authwirev1.GetUserRequest{Id: id})
		case "delete":
			answer, err = client.DeleteUser(ctx, &authwirev1.DeleteUserRequest{Id: id})
		}
		if err != nil {
			return history.Answer{}, err
		}
		user := answer.GetUser()
		if call.Method != "delete" {
			c.round.learn(user.GetId(), user.GetEtag()+" "+user.GetName())
		}
		return history.Answer{Value: user.GetName(), Email: user.GetEmail(), Who: whoIs(user.GetId())}, nil
	})
}

// idOf returns the id of a user of a key.
func idOf(key string, who int) string { return fmt.Sprint(key, "-", who) }

// whoIs returns the number in the id of a user.
func whoIs(id string) int {
	who, err := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
	if err != nil {
		return -1
	}
	return who
}

// createUser creates a user whom a history needs.
func createUser(c *caller, id string) error {
	return c.prepare("USER_ALREADY_EXISTS", func(ctx context.Context, via connection) error {
		_, err := authwirev1.NewUserServiceClient(via).CreateUser(ctx, &authwirev1.CreateUserRequest{Id: &id})
		return err
	})
}
