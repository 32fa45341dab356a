package mcpchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/sampling"
)

// Options configure a [Host]. Nil and the zero value are valid.
type Options struct {
	// Terminal asks a person: for the inputs of the file, for sign-ins, and in runs of [Host.Agent]. It is told which servers
	// are left out. Default nil: nobody is asked.
	Terminal *Terminal

	// Toolset configures the connections and the tools. The Start of its Policy is [adapter.StartAvailable] in any case: one server that
	// cannot be reached does not stop the others. Without its Lists, those are files in the folder mcpchain/tools of the user's
	// configuration. Default: see [adapter.Options].
	Toolset *adapter.Options

	// Sampling says how servers may borrow the model of [Host.Agent]. Default: a person is asked about each request
	// ([sampling.AskLater]), within the default limits. A Client.Sampling of Toolset takes its place.
	Sampling *sampling.Options

	// Tokens keeps what sign-ins bring. Default: files in the folder mcpchain/tokens of the user's configuration.
	Tokens oauth.Store

	// Name is what authorization servers are told that this program is. Default "mcpchain".
	Name string
}

// Host is the servers of a file, and what they need of a program. Its methods may be called concurrently.
type Host struct {
	tools   *adapter.Toolset
	left    []adapter.ServerStatus // by mistakes in the file
	options Options
	lender  *lender
	signIns map[string]*oauth.Transport // by server
}

// Open reads an mcp.json (docs/mcp-json.md) and connects to its servers. A server that cannot be used does not stop the
// others, see [Host.Left]; one that could not be reached is tried again while the host is open. The error is for a file that
// cannot be read, and for options that do not fit.
//
// A remote server without an Authorization header may want a sign-in. A kept token is used; else the person at the terminal
// is asked to sign in. The caller closes the host.
func Open(ctx context.Context, file string, opts *Options) (_ *Host, err error) {
	h := &Host{lender: new(lender)}
	if opts != nil {
		h.options = *opts
	}
	loader := &config.Loader{Filters: true, SignIn: true}
	if t := h.options.Terminal; t != nil {
		loader.Input = t.input
	}
	cfg, err := loader.Load(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.closeSignIns()
		}
	}()
	if err := h.authorize(cfg); err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	servers, left := adapter.FromConfig(cfg)
	h.left = left
	if h.tools, err = adapter.Open(ctx, servers, h.toolset()); err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	if t := h.options.Terminal; t != nil {
		h.signIn(ctx, t)
		t.tell(h.Left())
	}
	return h, nil
}

// toolset are the options of the toolset.
func (h *Host) toolset() *adapter.Options {
	var o adapter.Options
	if h.options.Toolset != nil {
		o = *h.options.Toolset
	}
	var client mcpclient.Options
	if o.Client != nil {
		client = *o.Client
	}
	if client.Sampling == nil {
		client.Sampling = h.lender
	}
	o.Client, o.Policy.Start = &client, adapter.StartAvailable
	if dir, err := os.UserConfigDir(); err == nil && o.Lists == "" {
		o.Lists = filepath.Join(dir, "mcpchain", "tools")
	}
	return &o
}

// Tools are the tools of the servers, for an agent of one's own, for langchaingo, or without a model. Close the host, not
// them.
func (h *Host) Tools() *adapter.Toolset { return h.tools }

// Left are the servers of the file that cannot be used at the moment, each with its Err. A server with the name of a tool in
// Unmatched is there, too: the file allows the tool or leaves it out, and the server has no such tool.
func (h *Host) Left() []adapter.ServerStatus {
	left := h.left[:len(h.left):len(h.left)]
	for _, s := range h.tools.Servers() {
		if s.Err != nil || len(s.Unmatched) > 0 {
			left = append(left, s)
		}
	}
	return left
}

// Agent returns an agent with the tools of the servers, and those of the options. Without a model it uses that of the
// environment, see [FromEnv].
//
// If the host has a terminal and the options have neither Person.Reply nor Durable.Store, the person there answers the questions of
// runs, and if they have no Person.Approve, is asked about each call ([agent.AskPerson]). Otherwise calls are allowed as [agent.Options]
// says: without a Person.Approve, all. Servers may borrow the model of the first agent, if it is an
// [openaimodel.Model]; Sampling of [Options] says how.
func (h *Host) Agent(m agent.Model, opts *agent.Options) (*agent.Agent, error) {
	if m == nil {
		var err error
		if m, err = FromEnv(); err != nil {
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
			o.Person.Approve = agent.AskPerson
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

// Close disconnects from the servers, and ends sign-ins that are under way.
func (h *Host) Close() error {
	err := h.tools.Close()
	h.closeSignIns()
	return err
}

// FromEnv returns the model that the environment names: with OPENAI_MODEL that of [openaimodel.FromEnv], else with
// ANTHROPIC_MODEL that of [anthropicmodel.FromEnv].
func FromEnv() (agent.Model, error) {
	switch {
	case os.Getenv("OPENAI_MODEL") != "":
		m, err := openaimodel.FromEnv()
		if err != nil {
			return nil, err // and not a nil *openaimodel.Model, which is not a nil agent.Model
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
