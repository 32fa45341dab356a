package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Open connects to all servers at the same time, lists their tools and makes one
// toolset of them. The context bounds the opening only.
//
// The order of tools is stable: servers as given, tools as their server lists
// them. When Open fails, what it had opened is closed again.
func Open(ctx context.Context, servers []Server, opts *Options) (_ *Toolset, err error) {
	o := opts.withDefaults()
	if err := checkServers(servers); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	t := &Toolset{opts: o}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if err := t.connect(ctx, servers); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	t.build()
	return t, nil
}

func checkServers(servers []Server) error {
	seen := map[string]bool{}
	for i, s := range servers {
		switch {
		case s.Name == "":
			return fmt.Errorf("server %d has no name: set Server.Name", i)
		case seen[s.Name]:
			return fmt.Errorf("server %q is there twice: give each a name of its own", s.Name)
		case s.Client == nil && s.Transport == nil:
			return fmt.Errorf("server %q: set Transport or Client", s.Name)
		case s.Client != nil && s.Transport != nil:
			return fmt.Errorf("server %q: set either Transport or Client, not both", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// connect opens every server. With StartAll the first failure ends the others.
func (t *Toolset) connect(ctx context.Context, servers []Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	t.servers = make([]*server, len(servers))
	for i := range servers {
		s := newServer(&servers[i], t.opts)
		t.servers[i] = s
		wg.Go(func() {
			if s.err = s.open(ctx, t.opts, &t.schemas); s.err == nil {
				return
			}
			if t.opts.Start == StartAll {
				once.Do(func() { first = s.err })
				cancel()
				return
			}
			t.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
		})
	}
	wg.Wait()
	if first == nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return first
}

// server is one server of a toolset.
type server struct {
	label   string
	recipe  Server
	timeout time.Duration

	client  *mcpclient.Client // nil when it could not be reached
	err     error
	tools   []*Tool
	skipped []SkippedTool
}

func newServer(recipe *Server, o *Options) *server {
	s := &server{label: recipe.Name, recipe: *recipe, timeout: recipe.Timeout}
	if s.timeout <= 0 {
		s.timeout = o.Timeout
	}
	return s
}

// open connects to the server and lists its tools.
func (s *server) open(ctx context.Context, o *Options, schemas *schema.Cache) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.ConnectTimeout, fmt.Errorf("not ready within %v (Options.ConnectTimeout)", o.ConnectTimeout))
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("server %q: %w", s.label, err)
			_ = s.close()
		}
	}()
	s.client = s.recipe.Client
	if s.client == nil {
		opts := s.recipe.Options
		if opts == nil {
			opts = o.Client
		}
		s.client, err = mcpclient.Connect(ctx, s.recipe.Transport, withSources(opts, s.label))
		if err != nil {
			return err
		}
	}
	return s.list(ctx, o, schemas)
}

// list asks for the server's tools. One that cannot be used does not keep the
// others from being used.
func (s *server) list(ctx context.Context, o *Options, schemas *schema.Cache) error {
	if s.client.Server().Capabilities.Tools == nil {
		return nil
	}
	seen := map[string]bool{}
	count := 0
	for def, err := range s.client.Tools(ctx) {
		if err != nil {
			return err
		}
		if count++; count > o.MaxTools {
			return fmt.Errorf("lists more than %d tools (Options.MaxTools)", o.MaxTools)
		}
		if keep, err := s.keeps(def); err != nil {
			return err
		} else if !keep {
			continue
		}
		tool, err := newTool(s, def, o, schemas)
		if err == nil && seen[def.Name] {
			err = errors.New("listed twice: the first one is used")
		}
		if err != nil {
			s.skip(o, def.Name, err)
			continue
		}
		seen[def.Name] = true
		s.tools = append(s.tools, tool)
	}
	return nil
}

// skip notes that a tool is left out.
func (s *server) skip(o *Options, name string, err error) {
	o.Logger.Warn("left out a tool", "server", s.label, "tool", cut(name, 200), "error", err)
	s.skipped = append(s.skipped, SkippedTool{Name: name, Err: err})
}

// keeps asks the filter.
func (s *server) keeps(def *mcpclient.Tool) (keep bool, err error) {
	if s.recipe.Filter == nil {
		return true, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("filter panicked at tool %q: %v\n%s", cut(def.Name, 200), p, debug.Stack())
		}
	}()
	return s.recipe.Filter(def), nil
}

// close ends a connection that the toolset made.
func (s *server) close() error {
	if s.client == nil || s.client == s.recipe.Client {
		return nil
	}
	return s.client.Close()
}
