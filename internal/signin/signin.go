// Package signin signs a person in to the MCP servers of a program, and keeps the tokens.
package signin

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// Tokens returns the store of tokens in folder. If folder is "", it is mcpchain/tokens in the user's
// configuration, or memory if there is no such folder.
func Tokens(folder string) (oauth.Store, error) {
	if folder != "" {
		return oauth.NewFileStore(folder)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return oauth.NewMemoryStore(), nil // the token of a sign-in then lasts for this run
	}
	return oauth.NewFileStore(filepath.Join(dir, "mcpchain", "tokens"))
}

// Options say how a program signs in.
type Options struct {
	Client   string // the program's name, which authorization servers show
	Store    oauth.Store
	Receiver oauth.Receiver
	Account  string // account of the person, if the store is for several; see [oauth.Options]
}

// Authorize gives a server of a file an HTTP client that signs in as the file says. The caller closes the transport. It is
// nil if there is nothing to sign in to: a command starts the server, or its headers have a token.
func Authorize(s *config.Server, o *Options) (*oauth.Transport, error) {
	remote, ok := s.Transport.(*mcpclient.HTTP)
	if !ok || remote.Header.Get("Authorization") != "" {
		return nil, nil
	}
	t, err := oauth.New(remote.URL, options(s, o))
	if err != nil {
		return nil, err
	}
	remote.Client = t.Client()
	return t, nil
}

// options returns the options of the OAuth client for a server.
func options(s *config.Server, o *Options) *oauth.Options {
	file := s.OAuth
	file = cmp.Or(file, &config.OAuth{})
	code := &oauth.AuthorizationCode{Receiver: o.Receiver}
	if file.ClientID == "" {
		code.RegisterAs = o.Client
	} else {
		code.Client = &oauth.Credentials{ID: file.ClientID, Secret: file.ClientSecret}
	}
	return &oauth.Options{Grant: code, Store: o.Store, Account: o.Account, Scopes: file.Scopes}
}

// Port returns the port of the redirect URI that the file demands, 0 for any.
func Port(s *config.Server) int {
	if s.OAuth == nil {
		return 0
	}
	return s.OAuth.CallbackPort
}

// NeededError is the error of a request that needs a sign-in while no person is asked.
type NeededError struct {
	Advice string // what the person can do
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("the server wants a sign-in: %s", e.Advice)
}

// NotNow is a receiver that refuses with this advice.
type NotNow string

// Receive implements [oauth.Receiver].
func (n NotNow) Receive(context.Context, string, func(string) (string, error)) (url.Values, error) {
	return nil, &NeededError{string(n)}
}
