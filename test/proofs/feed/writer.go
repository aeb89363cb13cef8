package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authwirev1 "github.com/authwire/authwire/gen/go/authwire/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/authwire/authwire/test/proofs/history"
)

const (
	callTimeout = 3 * time.Second
	// maxCalls limits how often a write with an idempotency key is repeated.
	maxCalls = 20
)

// writes collects what the writers of a tenant were told.
type writes struct {
	mu         sync.Mutex
	begun      time.Time
	byKey      map[string]Write
	unexpected []error
}

func (w *writes) put(key string, write Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byKey[key] = write
}

// writer makes one write after another, each through a random replica.
type writer struct {
	*writes
	*rand.Rand
	replicas replicas
}

type call func(context.Context, grpc.ClientConnInterface) error

// do makes a write, whose event has this key. Half of the writes have an idempotency key, and are repeated until their
// outcome is known.
func (w *writer) do(ctx context.Context, kind authwirev1.EventKind, user string, send call) {
	key := keyOf(kind, user)
	write := Write{Begin: time.Since(w.begun)}
	repeats := 1
	if w.IntN(2) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", fmt.Sprintf("%s-%016x", kind, w.Uint64()))
		repeats = maxCalls
	}
	var err error
	lost := false // whether a call may have been done, or may still be
	for range repeats {
		if err = w.call(ctx, send); err == nil || !history.MayPass(err) || ctx.Err() != nil {
			break
		}
		lost = true
		time.Sleep(time.Duration(w.IntN(300)) * time.Millisecond)
	}
	switch {
	case err == nil:
		write.End, write.Acknowledged = time.Since(w.begun), true
	case status.Code(err) == codes.NotFound && lost:
	case status.Code(err) == codes.NotFound:
		// An earlier write of this user was not done, so this one was not done either.
		return
	case !history.MayPass(err):
		w.mu.Lock()
		w.unexpected = append(w.unexpected, fmt.Errorf("%s: %w", key, err))
		w.mu.Unlock()
		return
	}
	w.put(key, write)
}

func (w *writer) call(ctx context.Context, send call) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return send(ctx, w.replicas.at(w.Int()))
}

// user makes writes of each kind about one user. They go on if the outcome of one is unknown.
func (w *writer) user(ctx context.Context, id string) {
	tomorrow := timestamppb.New(time.Now().Add(24 * time.Hour))
	account := authwirev1.UnlinkAccountRequest{Provider: "proofs", ProviderAccountId: id}
	for _, step := range []struct {
		kind authwirev1.EventKind
		send call
	}{
		{authwirev1.EventKind_EVENT_KIND_USER_CREATED, create(id)},
		{authwirev1.EventKind_EVENT_KIND_ACCOUNT_LINKED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewAccountServiceClient(c).LinkAccount(ctx, &authwirev1.LinkAccountRequest{
				UserId: id, Type: authwirev1.AccountType_ACCOUNT_TYPE_OIDC, Provider: account.Provider, ProviderAccountId: id})
			return err
		}},
		{authwirev1.EventKind_EVENT_KIND_USER_UPDATED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewUserServiceClient(c).UpdateUser(ctx, &authwirev1.UpdateUserRequest{
				Id: id, Name: &id, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}}})
			return err
		}},
		{authwirev1.EventKind_EVENT_KIND_SESSION_CREATED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewSessionServiceClient(c).CreateSession(ctx, &authwirev1.CreateSessionRequest{
				UserId: id, SessionToken: id, Expires: tomorrow})
			return err
		}},
		{authwirev1.EventKind_EVENT_KIND_SESSION_DELETED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewSessionServiceClient(c).DeleteSession(ctx, &authwirev1.DeleteSessionRequest{SessionToken: id})
			return err
		}},
		{authwirev1.EventKind_EVENT_KIND_ACCOUNT_UNLINKED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewAccountServiceClient(c).UnlinkAccount(ctx, &account)
			return err
		}},
		{authwirev1.EventKind_EVENT_KIND_USER_DELETED, func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := authwirev1.NewUserServiceClient(c).DeleteUser(ctx, &authwirev1.DeleteUserRequest{Id: id})
			return err
		}},
	} {
		if ctx.Err() != nil {
			return
		}
		w.do(ctx, step.kind, id, step.send)
		time.Sleep(time.Duration(w.IntN(20)) * time.Millisecond)
	}
}

func create(id string) call {
	return func(ctx context.Context, c grpc.ClientConnInterface) error {
		_, err := authwirev1.NewUserServiceClient(c).CreateUser(ctx, &authwirev1.CreateUserRequest{Id: &id})
		return err
	}
}

// mark makes the last write of a tenant, and repeats it until it is acknowledged.
func (w *writer) mark(ctx context.Context, id string) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", "the-last-write-"+id)
	write := Write{Begin: time.Since(w.begun), Acknowledged: true}
	for err := w.call(ctx, create(id)); err != nil; err = w.call(ctx, create(id)) {
		if !history.MayPass(err) || ctx.Err() != nil {
			return fmt.Errorf("the last write of a tenant: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	write.End = time.Since(w.begun)
	w.put(keyOf(authwirev1.EventKind_EVENT_KIND_USER_CREATED, id), write)
	return nil
}
