package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// userHeader tells the demo server whose call it is. A server believes it because only the service reaches it,
// by its network. A server of others wants a token of the user instead.
const userHeader = "X-User"

// carryUser adds the user to the requests of a transport.
func carryUser(t *mcpclient.HTTP, header string) *mcpclient.HTTP {
	c, before := *t, t.RoundTripper
	c.RoundTripper = func(next http.RoundTripper) http.RoundTripper {
		if before != nil {
			next = before(next)
		}
		return adapter.ContextHeaders(next, func(ctx context.Context) http.Header {
			return http.Header{http.CanonicalHeaderKey(header): {userOf(ctx)}}
		})
	}
	return &c
}

// demoLabel is the host's label of the demo server.
const demoLabel = "demo"

// patience is how long the start waits for servers that are slower than others; they join later.
const patience = 2 * time.Second

// openTools connects to the servers of a file, or to the demo server. The log names the servers that cannot be used;
// it is an error if none of a file can be.
func openTools(ctx context.Context, o *options, logger *slog.Logger) (*adapter.Toolset, func(), error) {
	end := func() {}
	servers, wrong, err := o.servers(ctx)
	if o.config == "" {
		var demo *http.Server
		if demo, servers, err = startDemo(); demo != nil {
			end = func() { _ = demo.Close() }
		}
	}
	if err != nil {
		return nil, nil, err
	}
	opts := &adapter.Options{
		Policy: adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeouts.Connect}, Patience: patience, User: userOf,
		Logger: logger, Client: &mcpclient.Options{Logger: logger},
	}
	if dir := cli.Place("service-tools"); dir != "" {
		opts.Lists = dir
	}
	toolset, err := adapter.Open(ctx, servers, opts)
	if err != nil {
		end()
		return nil, nil, err
	}
	if err := reportUnusable(toolset.Servers(), wrong, logger); err != nil {
		_ = toolset.Close()
		end()
		return nil, nil, fmt.Errorf("%s: %w", o.config, err)
	}
	return toolset, func() {
		_ = toolset.Close()
		end()
	}, nil
}

// reportUnusable logs the servers that can be used, the servers that cannot, and the tools that are left out. It returns the reasons if no server
// can be used.
func reportUnusable(opened []adapter.ServerStatus, wrong []adapter.ServerStatus, logger *slog.Logger) error {
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
		if s.Err != nil { // which is in the log already
			wrong = append(wrong, s)
			continue
		}
		usable++
		logger.Info("a server can be used", "server", s.Name, "tools", len(s.Tools))
		for _, t := range s.Skipped {
			logger.Warn("a tool cannot be used", "server", s.Name, "tool", t.Name, "reason", t.Err)
		}
		for _, name := range s.Unmatched {
			logger.Warn("the file allows or leaves out a tool that the server does not have", "server", s.Name, "tool", name)
		}
	}
	var reasons []error
	for _, w := range wrong {
		reasons = append(reasons, w.Err)
	}
	if len(opened)+len(wrong) == 0 {
		logger.Warn("the file has no server that is enabled: there are no tools")
	}
	if usable > 0 || len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("no server can be used:\n%w", errors.Join(reasons...))
}

// servers reads the servers of the file, and which of its entries are wrong.
func (o *options) servers(ctx context.Context) (servers []adapter.Server, wrong []adapter.ServerStatus, err error) {
	if o.config == "" || o.config == cli.NoServers {
		return nil, nil, nil
	}
	cfg, err := (&config.Loader{Filters: true}).Load(ctx, o.config)
	if err != nil {
		return nil, nil, &cli.FileError{Err: err}
	}
	servers, wrong = adapter.FromConfig(cfg)
	for i := range servers {
		switch t := servers[i].Transport.(type) {
		case *mcpclient.HTTP:
			if o.Header != "" {
				servers[i].Transport = carryUser(t, o.Header)
			}
		case *mcpclient.Command: // a process does not say for whom it asks
			servers[i].PerUser = o.Processes
		}
	}
	return servers, wrong, nil
}

// startDemo serves the demo server on a port of the loopback interface, with a tool more: whoami.
func startDemo() (*http.Server, []adapter.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the demo server: %w", err)
	}
	server := tryout.NewServer()
	sdk.AddTool(server, &sdk.Tool{Name: "whoami", Description: "Says who the caller is.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "You are " + r.Extra.Header.Get(userHeader) + "."}}}, nil, nil
		})
	web := &http.Server{
		Handler:           sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = web.Serve(listener) }()
	url := "http://" + listener.Addr().String()
	return web, []adapter.Server{{Name: demoLabel, Transport: carryUser(&mcpclient.HTTP{URL: url}, userHeader)}}, nil
}

// approveDemo lets the demo server of this program read without a question. A person is asked about every
// other call, and about all calls of a file's servers, whatever they say of themselves.
func approveDemo(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	if hint := a.Definition.Annotations; a.Server == demoLabel && hint != nil && hint.ReadOnlyHint != nil && *hint.ReadOnlyHint {
		return approval.Allow(), nil
	}
	return agent.AskPerson(ctx, a)
}

// openModel opens the model, or the demo model. It is asked again after failures that pass.
func openModel(ctx context.Context, f *models.Flags, logger *slog.Logger) (agent.Model, func(), error) {
	model, end := f.Model, func() {}
	switch {
	case model.Name == "" && f.Hint != "":
		return nil, nil, errors.New(f.Hint)
	case model.Name == "":
		logger.Warn("the model is a demo: give -model, or set OPENAI_MODEL")
		demo, err := tryout.StartModel()
		if err != nil {
			return nil, nil, err
		}
		model = models.Model{Name: tryout.ModelName, BaseURL: demo.BaseURL}
		end = func() { _ = demo.Close() }
	default:
		model.Discover(ctx)
		logger.Info("the model", "name", model.Name, "host", hostOf(model.BaseURL))
	}
	llm, err := model.Open(func(err error, wait time.Duration) {
		logger.Warn("the model is asked again", "after", wait, "error", err)
	})
	if err != nil {
		end()
		return nil, nil, err
	}
	return llm, end, nil
}

// hostOf is the host of a base URL, without what may be secret.
func hostOf(base string) string {
	if base == "" {
		return "the API's own"
	}
	u, err := url.Parse(base)
	if err != nil {
		return "unknown"
	}
	return u.Host
}
