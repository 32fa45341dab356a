package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// servers are the servers of the program.
type servers struct {
	tools    *adapter.Toolset       // the servers that all users share
	watch    *hosting.Watch         // knows which shared servers do not answer
	personal *access.Access         // the servers to which each user signs in
	refused  []adapter.ServerStatus // left out, because of a mistake in the file
}

// signInInterval is the wait between searches for shared servers that require a sign-in.
const signInInterval = 5 * time.Second

// connect connects to the shared servers, and makes those that require a sign-in personal: also later, because a server
// that is down does not say what it requires. Servers of a file are not trusted: each call is approved by a person.
func (a *app) connect(ctx context.Context, o *options, opts *adapter.Options, p *parts) (*servers, error) {
	entries, err := hosting.ReadEntries(ctx, o.config, &o.Hosting, true)
	if err != nil {
		return nil, err
	}
	a.onClose(entries.Close)
	shared := *opts
	shared.Policy.Start, shared.OnChange = adapter.StartAvailable, func(adapter.Event) { p.changes.ofServers() }
	if len(entries.File) == 0 { // otherwise wait for all servers, to find out which require a sign-in
		shared.OpenWait = hosting.Patience
	}
	shared.ListDir = filepath.Join(filepath.Dir(o.store), "tools")
	if a.views != nil {
		if shared.ClientOptions, err = apps.Declare(opts.ClientOptions); err != nil {
			return nil, err
		}
	}
	tools, err := adapter.Open(ctx, entries.Shared, &shared)
	if err != nil {
		return nil, err
	}
	a.onClose(tools.Close)
	s := &servers{tools: tools, personal: p.personal, refused: entries.Wrong}
	others := s.movePersonal(entries.File)
	stopMoving := hosting.StartLoop(signInInterval, func(context.Context) {
		before := len(others)
		if others = s.movePersonal(others); len(others) < before {
			p.changes.ofServers()
		}
	})
	var stopWatch func()
	s.watch, stopWatch = hosting.NewWatch(tools.Servers, o.logger, p.changes.ofServers)
	a.onClose(func() error { stopMoving(); stopWatch(); return nil })
	if o.config != "" {
		_ = hosting.Report(o.logger, o.config, tools.Servers(), entries.Wrong) // the page works without servers
	}
	return s, nil
}

// movePersonal makes those of the servers personal that require a sign-in, and returns the others. A server that refuses
// the token of its headers is not personal, but tried again.
func (s *servers) movePersonal(entries []*config.Server) (others []*config.Server) {
	for _, entry := range entries {
		remote, ok := entry.Transport.(*mcpclient.HTTP)
		refused := ok && remote.Header.Get("Authorization") == "" && slices.ContainsFunc(s.tools.Servers(), func(t adapter.ServerStatus) bool {
			return t.Name == entry.Name && wantsSignIn(t.Err)
		})
		if entry.OAuth == nil && !refused {
			others = append(others, entry)
			continue
		}
		s.personal.Add(entry)
		_ = s.tools.Remove(entry.Name) // it is not there with a sign-in in the file, and not connected without
	}
	return others
}

// shared is what windows show about the model and the shared servers.
type shared struct {
	Model    string    `json:"model"`
	Demo     bool      `json:"demo"` // the servers are the program's own
	Servers  []string  `json:"servers"`
	Troubles []trouble `json:"troubles"`
}

// panel returns what windows show about the servers of a file, or of the demo if file is "". A
// mistake in the file has its line; how to reach a server is only in the log.
func (s *servers) panel(model, file string) shared {
	out := shared{Model: model, Demo: file == "", Servers: []string{}, Troubles: []trouble{}}
	folder := strings.TrimSuffix(file, filepath.Base(file)) // the part of the file's path to hide
	for _, status := range slices.Concat(s.refused, s.tools.Servers()) {
		if status.Ended == nil && s.watch.IsDown(status.Name) {
			status.Ended = errSilent
		}
		if status.Err == nil && status.Ended == nil {
			out.Servers = append(out.Servers, status.Name)
		}
		if text := troubleOf(status, folder); text != "" {
			out.Troubles = append(out.Troubles, trouble{status.Name, text})
		}
	}
	return out
}

// trouble says what is wrong with a server: it is left out or not ready, or a part of its entry in the file has no effect.
type trouble struct {
	Server string `json:"server"`
	Text   string `json:"text"`
}

// errSilent stands for the end of a connection over HTTP, which nothing tells.
var errSilent = errors.New("the server does not answer")

// troubleOf returns what the panel says about a server, "" for nothing.
func troubleOf(status adapter.ServerStatus, folder string) string {
	switch {
	case errors.Is(status.Err, config.ErrEntry):
		text := strings.Replace(status.Err.Error(), fmt.Sprintf("server %q: ", status.Name), "", 1)
		return talk.ErrorText(strings.TrimPrefix(text, folder))
	case errors.Is(status.Err, adapter.ErrConnecting):
		return "is slow, and joins when it is ready"
	case status.Err != nil:
		return "cannot be used; the log has the reason, and it is tried again"
	case errors.Is(status.Ended, errSilent):
		return "does not answer; it is tried again"
	case status.Ended != nil:
		return "has ended; it is tried again"
	}
	return access.Unmatched(status)
}

// wantsSignIn reports whether the error of a server means that it requires a token.
func wantsSignIn(err error) bool {
	refused, ok := errors.AsType[*transport.HTTPError](err)
	return ok && refused.Status == http.StatusUnauthorized
}
