package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpchain/mcpchain/internal/private"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// isLazy reports whether the server is connected by its first call.
func (s *server) isLazy() bool { return s.state.policy.Start == StartLazy }

// openOrRecall makes the server ready to join a toolset: by its stored list, or by a connection.
func (c *connector) openOrRecall(ctx context.Context, s *server) error {
	if c.recallList(s) {
		return nil
	}
	return c.open(ctx, s)
}

// recallList sets up the server from its stored list, without connecting. It reports whether there is a usable list.
func (c *connector) recallList(s *server) bool {
	if !s.isLazy() || c.opts.ListDir == "" {
		return false
	}
	defs, err := lists(c.opts.ListDir).load(s.state.origin)
	if err != nil {
		c.opts.Logger.Warn("the kept list of a server's tools cannot be used", "server", s.state.label, "error", err)
		return false
	}
	if defs == nil {
		return false
	}
	c.makeDormant(s, defs)
	return true
}

// makeDormant sets the tools of a server without a connection.
func (c *connector) makeDormant(s *server, defs []*mcp.Tool) {
	l := c.makeTools(s, defs)
	s.pins = l.applyPins(s, s.pins)
	s.listing = l
	s.dormant = true
}

// storeList stores the definitions that the server listed, for the next program.
func (c *connector) storeList(s *server, defs []*mcp.Tool) {
	if !s.isLazy() || c.opts.ListDir == "" {
		return
	}
	if err := lists(c.opts.ListDir).store(s.state.origin, defs); err != nil {
		c.opts.Logger.Warn("the list of a server's tools is not kept: the next start connects to it at once",
			"server", s.state.label, "error", err)
	}
}

// connectIdle connects a server that is idle. Its tools may have changed. It does nothing if the
// server is connected or was removed.
func (c *connector) connectIdle(ctx context.Context, state *serverState) error {
	s := c.roster.find(state)
	if s == nil || s.client != nil {
		return nil
	}
	if err := c.changeServer(ctx, s, func(ctx context.Context) (*Event, error) { return c.wake(ctx, s) }); err != nil {
		return &unsentError{err}
	}
	return nil
}

// wake replaces a dormant server by a connection. The event is nil if its tools are the same.
func (c *connector) wake(ctx context.Context, s *server) (*Event, error) {
	e, err := c.reconnect(ctx, s, ToolsChanged, c.open)
	if e == nil || e.empty() {
		return nil, err
	}
	return e, nil
}

// disconnectIdleLocked disconnects a lazy server, unless it is used again meanwhile.
func (c *connector) disconnectIdleLocked(s *server) {
	c.roster.startLocked(func() {
		if err := c.changeServer(c.roster.life, s, func(context.Context) (*Event, error) { return nil, c.disconnect(s) }); err != nil {
			c.opts.Logger.Debug("a server stays open without calls", "server", s.state.label, "error", err)
		}
	})
}

// disconnect replaces an unused server by one without a connection.
func (c *connector) disconnect(s *server) error {
	var defs []*mcp.Tool
	c.roster.mu.Lock()
	for _, tool := range s.tools {
		defs = append(defs, tool.def)
	}
	c.roster.mu.Unlock()
	idle := c.newServer(s.state)
	idle.pins = s.pins
	c.makeDormant(idle, defs)
	replaced := c.roster.replace(s, func() *server {
		if s.uses > 0 {
			return nil
		}
		idle.skipped, idle.unmatched = s.skipped, s.unmatched
		s.state.live.Store(nil)
		return idle
	})
	if !replaced {
		return errors.New("server is used again")
	}
	c.watchServer(idle)
	c.lender.retire(s)
	return nil
}

// lists stores the lists of tools in a directory, one file per server, readable by its owner only.
// Processes may share it.
type lists string

const (
	listSuffix = ".tools.json"
	maxList    = 16 << 20 // bounds one list, in bytes
)

// path returns the file of a server, by the hash of how it is reached.
func (dir lists) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(string(dir), hex.EncodeToString(sum[:])+listSuffix)
}

// load returns the list of a server, nil if none is stored.
func (dir lists) load(server string) (defs []*mcp.Tool, err error) {
	path := dir.path(server)
	list, err := private.ReadFile(path, maxList, 0o022)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	err = json.Unmarshal(list, &defs)
	if err == nil && slices.Contains(defs, nil) {
		err = errors.New("a tool is null")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it", path, err)
	}
	return defs, nil
}

// store replaces the list of a server, and creates the directory if necessary.
func (dir lists) store(server string, defs []*mcp.Tool) error {
	list, err := json.Marshal(append([]*mcp.Tool{}, defs...)) // an empty list is written as []
	if err != nil {
		return err
	}
	if len(list) > maxList {
		return fmt.Errorf("%d bytes: want at most %d", len(list), maxList)
	}
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return err
	}
	private.Sweep(string(dir))
	return private.WriteFile(dir.path(server), list)
}
