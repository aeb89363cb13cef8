package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

// serve answers `GET /me` until the context ends, and then finishes the active requests.
func (e *example) serve(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /me", e.me)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())

	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*timeout)
		defer cancel()
		ended <- server.Shutdown(ctx)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func (e *example) me(w http.ResponseWriter, r *http.Request) {
	who, err := e.whoIsSignedIn(r)
	switch {
	case err != nil:
		log.Printf("cannot tell who is signed in: %v", err)
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "cannot tell who is signed in"})
	case who == nil:
		answer(w, http.StatusUnauthorized, map[string]string{"error": "nobody is signed in"})
	default:
		answer(w, http.StatusOK, who)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Printf("cannot answer: %v", err)
	}
}
