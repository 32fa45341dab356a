// Package hosting has what commands for several people share: the user of a call, the model, and the servers of a file.
package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demoservers"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// userKey is the context key of the user of a call.
type userKey struct{}

// WithUser returns a context for the calls of a user.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// User returns the user of a call, "" outside of runs. It is for [adapter.Options.User] and the
// headers of requests to servers.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// CarryUser returns a copy of a transport whose requests name the user in a header. A server can trust
// the header if only this program reaches the server. Requests outside of runs do not have it.
func CarryUser(t *mcpclient.HTTP, header string) *mcpclient.HTTP {
	carrier := *t
	before := t.WrapTransport
	carrier.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		if before != nil {
			next = before(next)
		}
		return adapter.ContextHeaders(next, func(ctx context.Context) http.Header {
			if user := User(ctx); user != "" {
				return http.Header{http.CanonicalHeaderKey(header): {user}}
			}
			return nil
		})
	}
	return &carrier
}

// Patience is how long the start waits for slow servers, which join later.
const Patience = 2 * time.Second

// Entries are the servers of a file or of the demo.
type Entries struct {
	File   []*config.Server       // the entries of the file that are enabled and without a mistake; none names the user
	Shared []adapter.Server       // shared by all users: all but those with a sign-in for each user
	Wrong  []adapter.ServerStatus // left out, because of a mistake in the file
	Close  func() error           // ends the demo servers
}

// ReadEntries reads a file of servers, none for [cli.NoServers], or starts the demo servers if file is "". Requests to
// servers over HTTP without a sign-in name the user, if h names a header. A stdio server may get one process for each
// user, as h says, because a process does not say for which user it asks. signIn means that users can sign in to
// servers. The error matches [cli.FileError] if the file as a whole cannot be read. Without an error the caller calls
// Close.
func ReadEntries(ctx context.Context, file string, h *cli.Hosting, signIn bool) (e Entries, err error) {
	e.Close = func() error { return nil }
	switch file {
	case "":
		e.Shared, e.Close, err = DemoServers()
		return e, err
	case cli.NoServers:
		return e, nil
	}
	servers, err := (&config.Loader{AllowFilters: true, AllowSignIn: signIn}).Load(ctx, file)
	if err != nil {
		return e, &cli.FileError{Err: err}
	}
	var shared []config.Server
	for i := range servers {
		s := &servers[i]
		if s.Err == nil && !s.Disabled {
			e.File = append(e.File, s)
		}
		if s.OAuth == nil || !signIn {
			common := *s
			if t, ok := s.Transport.(*mcpclient.HTTP); ok && h.UserHeader != "" && s.OAuth == nil {
				common.Transport = CarryUser(t, h.UserHeader)
			}
			shared = append(shared, common)
		}
	}
	e.Shared, e.Wrong = adapter.FromConfig(shared)
	for i := range e.Shared {
		if _, ok := e.Shared[i].Transport.(*mcpclient.Command); ok {
			e.Shared[i].PerUser = h.Processes
		}
	}
	return e, nil
}

// DemoServers starts the demo servers, which run until end is called. Requests to them name the user, and their hints
// are trusted.
func DemoServers() (out []adapter.Server, end func() error, err error) {
	servers, err := demoservers.Start()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []struct{ name, url string }{{"demo", servers.DemoURL}, {"desk", servers.DeskURL}} {
		out = append(out, adapter.Server{
			Name:      s.name,
			Policy:    adapter.Policy{Trust: adapter.TrustHints},
			Transport: CarryUser(&mcpclient.HTTP{URL: s.url}, demoservers.UserHeader),
		})
	}
	return out, servers.Close, nil
}

// Report logs usable servers, unusable servers, and tools that are left out. It returns the
// reasons if no server is usable.
func Report(logger *slog.Logger, file string, opened, wrong []adapter.ServerStatus) error {
	for _, w := range wrong {
		logger.Warn("left out a server", "server", w.Name, "error", w.Err)
	}
	usable := 0
	for _, s := range opened {
		if errors.Is(s.Err, adapter.ErrConnecting) {
			logger.Info("a server is slow, and joins later", "server", s.Name)
			usable++
			continue
		}
		if s.Err != nil { // adapter.Open has logged it
			wrong = append(wrong, s)
			continue
		}
		usable++
		logger.Info("a server can be used", "server", s.Name, "tools", len(s.Tools))
		for _, tool := range slices.Sorted(maps.Keys(s.Skipped)) {
			logger.Warn("a tool cannot be used", "server", s.Name, "tool", tool, "reason", s.Skipped[tool])
		}
		for _, name := range s.Unmatched {
			logger.Warn("the file allows or leaves out a tool that the server does not have",
				"server", s.Name, "tool", name)
		}
	}
	var reasons []error
	for _, w := range wrong {
		reasons = append(reasons, w.Err)
	}
	if len(opened)+len(wrong) == 0 && file != cli.NoServers {
		logger.Warn("the file has no server that is enabled: there are no tools", "file", file)
	}
	if usable > 0 || len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: no server can be used:\n%w", file, errors.Join(reasons...))
}

// Model is the model that all users share.
type Model struct {
	models.Model              // its settings
	LLM          agent.Model  // the model itself
	Close        func() error // ends the demo model
}

// OpenModel opens the model, or the demo model if none is named. Temporary failures are retried. strict refuses the
// demo model if some settings of a model are present, because whoever made them may not read the log.
func OpenModel(ctx context.Context, f *models.Flags, strict bool, logger *slog.Logger) (_ *Model, err error) {
	m := &Model{Model: f.Model, Close: func() error { return nil }}
	switch {
	case m.Name == "" && f.Hint != "" && strict:
		return nil, &cli.Error{Command: "serve -api", Reason: f.Hint}
	case m.Name == "":
		if f.Hint != "" {
			logger.Warn(f.Hint)
		}
		logger.Warn("the model is a demo: give -model, or set OPENAI_MODEL or ANTHROPIC_MODEL")
		demo, err := tryout.StartModel()
		if err != nil {
			return nil, err
		}
		m.Model, m.Close = models.Model{Name: tryout.ModelName, BaseURL: demo.BaseURL}, demo.Close
	default:
		m.Discover(ctx)
		logger.Info("the model", "name", m.Name, "endpoint", cmp.Or(models.PublicURL(m.BaseURL), "the API's own"))
	}
	m.Retries = retries
	m.LLM, err = m.Open(func(err error, wait time.Duration) {
		logger.Warn("the model is asked again", "after", wait, "error", err)
	})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// retries is more than a person at a terminal would wait for: 4 retries take 4 to 8 s, in which a gateway can restart.
const retries = 4
