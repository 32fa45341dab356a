// Package config reads mcp.json files into transports.
//
// The files are those of Claude Desktop and Cursor, which keep their servers
// under mcpServers, and of VS Code, which keeps them under servers:
//
//	{
//	  "mcpServers": {
//	    "files":  {"command": "file-server", "args": ["${HOME}/notes"]},
//	    "remote": {"url": "https://example.com/mcp",
//	               "headers": {"Authorization": "Bearer ${TOKEN}"}}
//	  }
//	}
//
// A host connects to those that can be used, itself or by package adapter:
//
//	cfg, err := config.Load("mcp.json")
//	if err != nil {
//		return err
//	}
//	for _, s := range cfg.Servers {
//		switch {
//		case s.Disabled:
//		case s.Err != nil:
//			log.Printf("left out server %s: %v", s.Name, s.Err)
//		default:
//			client, err := mcpclient.Connect(ctx, s.Transport, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: s.Revision}})
//			…
//		}
//	}
//
// Comments, trailing commas and a byte order mark are accepted. Files are read,
// never written.
//
// # Mistakes
//
// What is neither known nor meant for another program is an [Error] with its
// file, line and key: a mistyped key must not silently start a server without
// its settings. Errors never show values, which may be secrets.
//
// A mistake in one server is in the Err of that [Server], and the others can be
// used. Load and Parse fail when there is no telling what the servers are: the
// file cannot be read, is no JSON, or has none of the two keys. A host that
// wants all servers or none asks [Config.Err].
//
// # Variables
//
// Every string of a server may name environment variables: ${VAR}, VS Code's
// ${env:VAR}, and ${VAR:-text} for a text to use when the variable is unset or
// empty. A variable that is unset and has no such text is an error. $${ stands
// for a literal ${. VS Code's and Cursor's ${workspaceFolder},
// ${workspaceFolderBasename}, ${userHome} and ${pathSeparator} work too; the
// workspace is the directory of the file, or the one above it when the file is
// in .vscode or .cursor.
//
// # Revision
//
// "revision" in a server is the protocol revision that the host speaks with it,
// one of [mcpclient.Revisions]. The tools of some servers ask their questions by
// requests, which 2026-07-28 does not have; with an earlier revision they work:
//
//	"older": {"command": "old-server", "revision": "2025-11-25"}
//
// # Limits
//
// A file has at most 1 MiB and nests at most 64 levels deep; an environment
// file has at most 1 MiB.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// maxFile bounds a configuration and an environment file in bytes.
const maxFile = 1 << 20

// Config is what a file says.
type Config struct {
	Servers []Server // in the order of the file, each name once
}

// Err joins the Err of all servers, in their order. It is nil when every one
// can be used.
func (c *Config) Err() error {
	errs := make([]error, len(c.Servers))
	for i, s := range c.Servers {
		errs[i] = s.Err
	}
	return errors.Join(errs...)
}

// Server is one server of a file.
type Server struct {
	Name string

	// Transport is a *mcpclient.Command, a *mcpclient.HTTP or a *mcpclient.SSE,
	// which the host may complete with what no file can say, such as a Stderr or
	// a Client that signs in. It is nil for a disabled server. The Dial of one
	// with an Err returns that.
	Transport mcpclient.Transport

	// Revision is the protocol revision to speak with the server, for
	// mcpclient.Options or adapter.Server. "" is the newest that both sides
	// speak.
	Revision string

	// Disabled servers are not to be used. Only their keys are checked.
	Disabled bool

	// Err is why the server cannot be used, as an [*Error]: there is a mistake in
	// it, it is in the file twice, or it needs what this package does not
	// support, such as a prompt for an input. It says nothing about the others.
	Err error
}

// Error is a mistake in a file, and where it is.
type Error struct {
	File   string
	Line   int    // from 1
	Key    string // where in the document, such as mcpServers.files.args[0]; empty for the document itself
	Reason string
}

// Error gives file, line, key and reason on one line.
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Key, e.Reason)
}

// Load reads the file at path, and the environment files that it names, with
// the variables of this process. A command with spaces is looked for, because
// it may be one with arguments. The error is an [*Error] when the file was read
// and is not a list of servers; what is wrong with one of them is in its Err.
func Load(path string) (*Config, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read server configuration: %w", err)
	}
	d := &decoder{file: path, lookup: os.LookupEnv, readFile: readBounded, missing: isMissing}
	return d.decode(data)
}

// Parse is Load for text that is at hand: name stands for the file in errors,
// lookup gives the variables, as [os.LookupEnv] does; nil knows none. It
// touches no file, so a server with an envFile is one that cannot be used.
func Parse(name string, data []byte, lookup func(string) (string, bool)) (*Config, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	return (&decoder{file: name, lookup: lookup}).decode(data)
}

func (d *decoder) decode(data []byte) (*Config, error) {
	root, err := parseDocument(data)
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		return nil, &Error{File: d.file, Line: syntax.line, Reason: syntax.reason}
	}
	return d.config(root)
}

// readBounded reads a file of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// isMissing reports whether there is no program of this name to start in dir.
func isMissing(path, dir string) bool {
	if dir != "" && filepath.Base(path) != path && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, err := exec.LookPath(path)
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// quoteKey shows a key of the document in an error.
func quoteKey(key string) string {
	if len(key) > 100 {
		key = strings.ToValidUTF8(key[:100], "") + "…"
	}
	return fmt.Sprintf("%q", key)
}
