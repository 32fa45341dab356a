package mcpchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/sampling"
)

// Options configure a [Host]. Nil and the zero value are valid.
type Options struct {
	// Terminal asks a person for the inputs of the file, for sign-ins, and for decisions in runs of
	// [Host.Agent]. It also shows which servers cannot be used. Default nil: nobody is asked.
	Terminal *Terminal

	// Toolset configures the connections and the tools. Its Policy.Start is ignored: it is always
	// [adapter.StartAvailable], so a server that cannot be reached does not prevent the use of the
	// others. A server of the file may be lazy; ListDir is then by default the directory
	// mcpchain/tools under [os.UserConfigDir]. Default: the zero [adapter.Options].
	Toolset *adapter.Options

	// Sampling says how servers may borrow a model: that of the first call of [Host.Agent] or [Host.Ask] whose model is
	// an [*openaimodel.Model]. Until then their requests are refused. Default: a person is asked about each request
	// ([sampling.AskLater]), within the default limits. If you set it, set its Review, too: without one nobody is asked.
	// It has no effect if Toolset.ClientOptions.Sampling is set.
	Sampling *sampling.Options

	// Tokens stores the tokens of sign-ins. Default: files in the directory mcpchain/tokens under [os.UserConfigDir], or
	// memory if there is no such directory, or it cannot be used.
	Tokens oauth.Store

	// Name is the name of this program for authorization servers. Default "mcpchain".
	Name string
}

// Host holds the servers of a file for this program, which MCP calls the host: their connections,
// their tools and their sign-ins. Its methods may be called concurrently.
type Host struct {
	tools   *adapter.Toolset
	left    []adapter.ServerStatus // the servers with mistakes in the file
	options Options
	lender  *lender
	signIns map[string]*oauth.Transport // by server

	life context.Context // ends with Close
	end  context.CancelFunc
	late sync.WaitGroup // sign-ins to servers that Open did not wait for
}

// Open reads an mcp.json (docs/mcp-json.md) and connects to its servers. A server that cannot be
// used does not prevent the use of the others; [Host.Problems] lists it. While the host is open, a
// server that could not be reached is tried again, after 0.5 s and then after longer waits of up to
// 1 min. Open returns an error if the file cannot be read or the options are invalid.
//
// ctx bounds only the opening. After the inputs of the file, Open waits until each server is ready
// or has failed (ConnectTimeout of Toolset.Policy), or as Toolset.OpenWait says, and then for the
// person to sign in, one server after the other. If Open did not wait for a server that requires a
// sign-in, the person is asked once the server has answered, while the host is open.
//
// A remote server without an Authorization header may require a sign-in. Open uses a stored token, or asks the person
// at the terminal to sign in. The caller closes the host, after which its tools and agents cannot call servers.
func Open(ctx context.Context, file string, opts *Options) (*Host, error) {
	h := &Host{lender: new(lender)}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	if opts != nil {
		h.options = *opts
	}
	loader := &config.Loader{AllowFilters: true, AllowSignIn: true}
	if t := h.options.Terminal; t != nil {
		loader.Input = t.askInput
	}
	servers, err := loader.Load(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := h.connect(ctx, servers); err != nil {
		h.endSignIns()
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	if t := h.options.Terminal; t != nil {
		late := h.signIn(ctx, t)
		t.showProblems(ctx, h.Problems())
		for _, name := range late { // after the notes, which would wait for the end of a question
			h.late.Go(func() { h.signInLate(t, name) })
		}
	}
	return h, nil
}

// connect opens the servers of a file.
func (h *Host) connect(ctx context.Context, file []config.Server) error {
	h.authorize(ctx, file)
	servers, left := adapter.FromConfig(file)
	h.left = left
	var err error
	h.tools, err = adapter.Open(ctx, servers, h.toolsetOptions())
	return err
}

// toolsetOptions completes Options.Toolset.
func (h *Host) toolsetOptions() *adapter.Options {
	var o adapter.Options
	if h.options.Toolset != nil {
		o = *h.options.Toolset
	}
	var client mcpclient.Options
	if o.ClientOptions != nil {
		client = *o.ClientOptions
	}
	if client.Sampling == nil {
		client.Sampling = h.lender
	}
	o.ClientOptions, o.Policy.Start = &client, adapter.StartAvailable
	if dir, err := os.UserConfigDir(); err == nil && o.ListDir == "" {
		o.ListDir = filepath.Join(dir, "mcpchain", "tools")
	}
	return &o
}

// Tools returns the tools of the servers, for an agent of your own, for langchaingo, or for calls
// without a model. Do not close it: [Host.Close] does.
func (h *Host) Tools() *adapter.Toolset { return h.tools }

// Problems lists the servers of the file with a problem. Err says why a server cannot be used at
// the moment. A server without Err can be used; its Unmatched names the tools that the file allows
// or excludes and that the server does not have.
func (h *Host) Problems() []adapter.ServerStatus {
	left := h.left[:len(h.left):len(h.left)]
	for _, s := range h.tools.Servers() {
		if s.Err != nil || len(s.Unmatched) > 0 {
			left = append(left, s)
		}
	}
	return left
}

// Agent returns an agent with the tools of the servers and of the options. If m is nil, it uses the
// model of the environment ([ModelFromEnv]). Sampling of [Options] says which model servers may borrow.
//
// If the host has a terminal and the options have neither Person.Reply nor Durable.Store, the
// person at the terminal answers the questions of runs. The first of these that there is decides
// on calls: Person.Approve; that person ([agent.AskPerson]), but only about calls that Approve of [Options].Toolset
// allows unchanged; Approve of [Options].Toolset or of a function. If there is none, every call is allowed.
func (h *Host) Agent(m agent.Model, opts *agent.Options) (*agent.Agent, error) {
	if m == nil {
		var err error
		if m, err = ModelFromEnv(); err != nil {
			return nil, fmt.Errorf("new agent: %w", err)
		}
	}
	var o agent.Options
	if opts != nil {
		o = *opts
	}
	o.Tools = append([]adapter.Source{h.tools}, o.Tools...)
	if t := h.options.Terminal; t != nil && o.Person.Reply == nil && o.Durable.Store == nil {
		o.Person.Reply = t.Reply
		if o.Person.Approve == nil {
			o.Person.Approve = h.approve
		}
	}
	a, err := agent.New(m, &o)
	if err != nil {
		return nil, err
	}
	if err := h.lender.lend(m, h.options.Sampling); err != nil {
		return nil, err
	}
	return a, nil
}

// approve asks the person at the terminal about a call, unless it is one of a server for which Approve of Options.Toolset
// denies or edits it, or fails.
func (h *Host) approve(ctx context.Context, r *approval.Request) (approval.Decision, error) {
	ofServer := slices.ContainsFunc(h.tools.Servers(), func(s adapter.ServerStatus) bool { return s.Name == r.Server })
	if t := h.options.Toolset; ofServer && t != nil && t.Approve != nil {
		if d, err := t.Approve(ctx, r); err != nil || !d.Allow || d.Arguments != nil {
			return d, err
		}
	}
	return agent.AskPerson(ctx, r)
}

// Ask asks the model of the environment one question, with an agent as Agent(nil, nil) makes it.
// opts configure the run. For other options, such as a system prompt or a store, make an agent.
func (h *Host) Ask(ctx context.Context, question string, opts ...agent.RunOption) (*agent.Result, error) {
	a, err := h.Agent(nil, nil)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, agent.Text(question), opts...)
}

// Close disconnects from the servers and cancels sign-ins that are under way. It returns the errors
// of closing the connections.
func (h *Host) Close() error {
	err := h.tools.Close()
	h.endSignIns()
	return err
}

// ModelFromEnv returns the model that the environment names: the model of [openaimodel.FromEnv] if
// OPENAI_MODEL is set, otherwise that of [anthropicmodel.FromEnv] if ANTHROPIC_MODEL is set. It
// does no I/O. It returns an error if neither is set, or the variables are incomplete.
func ModelFromEnv() (agent.Model, error) {
	switch {
	case os.Getenv("OPENAI_MODEL") != "":
		m, err := openaimodel.FromEnv()
		if err != nil {
			return nil, err // a nil *openaimodel.Model would not be a nil agent.Model
		}
		return m, nil
	case os.Getenv("ANTHROPIC_MODEL") != "":
		m, err := anthropicmodel.FromEnv()
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	return nil, errors.New("no model: set OPENAI_MODEL and OPENAI_API_KEY (or OPENAI_BASE_URL), or ANTHROPIC_MODEL and ANTHROPIC_API_KEY")
}

// Ask asks the model of the environment ([ModelFromEnv]) a question. The model has the tools of the
// servers of an mcp.json. The person at the terminal allows calls, fills in forms and signs in; if
// question is empty, Ask reads it from the terminal. A nil Terminal is the zero Terminal.
//
// The answer may be written to a terminal: characters that could control it are escaped ([hosttext.Prose]). If the
// input ended and something was therefore refused, Ask returns the answer and an error that matches [ErrInputEnded].
func Ask(ctx context.Context, file, question string, t *Terminal) (string, error) {
	if t == nil {
		t = new(Terminal)
	}
	m, err := ModelFromEnv() // first: without a model no server is started, and nobody is asked
	if err != nil {
		return "", err
	}
	h, err := Open(ctx, file, &Options{Terminal: t})
	if err != nil {
		return "", err
	}
	defer h.Close()
	a, err := h.Agent(m, nil)
	if err != nil {
		return "", err
	}
	if question == "" {
		if question, err = t.ReadLine(ctx, "Your question:"); err != nil {
			return "", err
		}
	}
	result, err := a.Run(ctx, agent.Text(question))
	if err != nil {
		return "", err
	}
	if t.nobody.Load() {
		err = ErrInputEnded
	}
	return hosttext.Prose(result.Output), err
}
