package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// demoServerFlag makes this program the demo server instead of the chatbot.
const demoServerFlag = "demo-server"

// maxWarnings bounds the shown warnings about a server's breaches of the
// protocol.
const maxWarnings = 20

// listServers returns the servers of the configuration, and its servers with
// mistakes. Without a configuration it is the demo server: this program as a
// child process.
func listServers(o *options) (servers []adapter.Server, wrong []adapter.ServerStatus, err error) {
	if o.config == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("find this program, to start the demo server: %w", err)
		}
		servers = []adapter.Server{{
			Name:      "demo",
			Transport: &mcpclient.Command{Path: self, Args: []string{"-" + demoServerFlag}},
		}}
	} else if servers, wrong, err = readConfig(o.config); err != nil {
		return nil, nil, err
	}
	if err := o.revisions.Apply(servers); err != nil {
		return nil, nil, &usageError{err.Error()}
	}
	return servers, wrong, nil
}

func readConfig(path string) (servers []adapter.Server, wrong []adapter.ServerStatus, err error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range cfg.Servers {
		switch {
		case s.Disabled:
		case s.Err != nil:
			wrong = append(wrong, adapter.ServerStatus{Name: s.Name, Err: fmt.Errorf("server %q: %w", s.Name, s.Err)})
		default:
			servers = append(servers, adapter.Server{Name: s.Name, Transport: s.Transport, Revision: s.Revision})
		}
	}
	return servers, wrong, nil
}

// namesOf lists the enabled servers of the configuration.
func namesOf(servers []adapter.Server, wrong []adapter.ServerStatus) (names []string) {
	for _, s := range servers {
		names = append(names, s.Name)
	}
	for _, s := range wrong {
		names = append(names, s.Name)
	}
	return names
}

// openServers connects to the servers, and reports unreachable ones and
// mistakes in the file.
func (s *session) openServers(ctx context.Context, servers []adapter.Server, wrong []adapter.ServerStatus, timeout time.Duration) (*adapter.Toolset, error) {
	if names := namesOf(servers, nil); len(names) > 0 {
		s.con.progress("connecting to %s …", strings.Join(names, ", "))
	}
	toolset, err := adapter.Open(ctx, servers, &adapter.Options{Start: adapter.StartAvailable, ConnectTimeout: timeout})
	if err != nil {
		s.con.endLine()
		return nil, err
	}
	s.reportServers(append(wrong, toolset.Servers()...), timeout)
	if len(toolset.Tools()) == 0 {
		s.con.note(s.con.style.warn, "there are no tools; the model answers alone")
	}
	return toolset, nil
}

func (s *session) reportServers(servers []adapter.ServerStatus, timeout time.Duration) {
	con, reached := s.con, 0
	for _, server := range servers {
		s.trace.write(record{Event: "server", Server: server.Name, Error: errorText(server.Err)})
		switch {
		case errors.Is(server.Err, context.DeadlineExceeded):
			con.note(con.style.fail, "left out: server %q: not ready within %v; -connect-timeout gives it longer", server.Name, timeout)
			continue
		case server.Err != nil:
			con.note(con.style.fail, "left out: %v", server.Err)
			continue
		}
		reached++
		con.note(con.style.faint, "server %s: %s, protocol revision %s", server.Name, plural(len(server.Tools), "tool"), server.Client.Server().Revision)
		for _, tool := range server.Skipped {
			con.note(con.style.warn, "left out: tool %s of server %s: %v", safetext.Line(tool.Name, 100), server.Name, tool.Err)
		}
	}
	if reached == 0 {
		s.lacks.unreachable.Store(int64(len(servers)))
	}
}

// warnings shows a server's breaches of the protocol, at most maxWarnings.
func warnings(con *console, server string) *slog.Logger {
	w := &noteWriter{con: con}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})).With("server", server)
}

type noteWriter struct {
	con   *console
	count atomic.Int64
}

func (w *noteWriter) Write(line []byte) (int, error) {
	switch n := w.count.Add(1); {
	case n <= maxWarnings:
		w.con.note(w.con.style.warn, "warning: %s", safetext.Line(string(line), 500))
	case n == maxWarnings+1:
		w.con.note(w.con.style.warn, "warning: more of this is not shown")
	}
	return len(line), nil
}
