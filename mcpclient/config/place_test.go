package config_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// An error about a server has the place of its entry, and a mistake its own.
func TestAt(t *testing.T) {
	dir := t.TempDir()
	path, env := filepath.Join(dir, "mcp.json"), filepath.Join(dir, ".env")
	check.Must(t, os.WriteFile(env, []byte("A=1\nnonsense\n"), 0o600))
	cfg := check.Value(new(config.Loader).LoadData(t.Context(), path, []byte(`{"mcpServers": {
  "fine": {"command": "x"},

  "of two": {
    "command": "x",
    "args": ["a",
      3]
  },
  "empty": {},
  "file": {"command": "x", "envFile": "`+filepath.ToSlash(env)+`"},
  "twice": {"command": "x"}, "off": {"comand": "x", "disabled": true},
  "twice": {"command": "y"}}}`)))(t)
	ended := fmt.Errorf("server %q: connect: %w", "fine", io.EOF) // as package adapter has it
	for i, want := range []string{
		path + `:2: server "fine": connect: EOF`,
		path + `:7: server "of two": args[1]: want a string, got a number`,
		path + `:9: server "empty": want either "command", for a program to start, or "url", for a server to call`,
		filepath.ToSlash(env) + `:2: server "file": want NAME=value`,
		path + `:12: server "twice": this server is on line 11 already`,
		path + `:11: server "off": comand: unknown key; did you mean "command"? known keys: args, command, cwd, disabled, env, envFile, excludeTools, headers, includeTools, oauth, revision, start, timeout, type, url`,
	} {
		s := &cfg[i]
		reason := s.Err
		if reason == nil {
			reason = ended
		}
		got := s.Annotate(reason)
		check.That(t, got != nil && got.Error() == want, "got %v\nwant %s", got, want)
		check.That(t, errors.Is(got, config.ErrEntry) && (s.Err != nil || errors.Is(got, io.EOF)),
			"%s: got %T, want an ErrEntry that wraps the reason", s.Name, got)
	}
	check.NoError(t, cfg[0].Annotate(nil))
}
