// Package config reads mcp.json files into transports.
//
// It reads the files of Claude Desktop and Cursor, with servers under
// mcpServers, and of VS Code, with servers under servers:
//
//	{
//	  "mcpServers": {
//	    "files":  {"command": "file-server", "args": ["${HOME}/notes"]},
//	    "remote": {"url": "https://example.com/mcp",
//	               "headers": {"Authorization": "Bearer ${TOKEN}"}}
//	  }
//	}
//
// A host connects to the usable servers, itself or by package adapter:
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
// A key that is neither known nor meant for another program is an [Error] with
// its file, line and key: a mistyped key must not silently start a server
// without its settings. Errors never show values, as they may be secrets.
//
// A mistake in one server is in the Err of that [Server], and the others can be
// used. Load and Parse fail if the list of servers is unknown: the file cannot
// be read, is no JSON, or has neither key. A host that wants all servers or
// none checks [Config.Err].
//
// # Variables
//
// Every string of a server may name environment variables: ${VAR}, VS Code's
// ${env:VAR}, and ${VAR:-text} for a text to use when the variable is unset or
// empty. An unset variable without such a text is an error. $${ stands for a
// literal ${. VS Code's and Cursor's ${workspaceFolder},
// ${workspaceFolderBasename}, ${userHome} and ${pathSeparator} work too; the
// workspace is the directory of the file, or its parent if the file is in
// .vscode or .cursor.
//
// # Revision
//
// "revision" in a server is the protocol revision to speak with it, one of
// [mcpclient.Revisions]. The tools of some servers send requests, and revision
// 2026-07-28 has none from servers; with an earlier revision they work:
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

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxFile bounds a configuration and an environment file in bytes.
const maxFile = 1 << 20

// Config is the content of a file.
type Config struct {
	Servers []Server // in the order of the file, each name once
}

// Err joins the Err of all servers, in their order. It is nil if all of them
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

	// Transport is a *transport.Command, a *streamable.HTTP or a *streamable.SSE.
	// The host may add fields that a file cannot have, such as a Stderr or a
	// Client that signs in. It is nil for a disabled server. If the server has an
	// Err, Dial returns it.
	Transport transport.Transport

	// Revision is the protocol revision to speak with the server, for
	// mcpclient.Options or adapter.Server. "" means the newest that both sides
	// speak.
	Revision string

	// Disabled is set for servers that must not be used. Only their keys are
	// checked.
	Disabled bool

	// Err is the reason against using the server, an [*Error]: its entry has a
	// mistake, is in the file twice, or needs an unsupported feature, such as a
	// prompt for an input. It does not concern other servers.
	Err error
}

// Error is a mistake in a file, and its place.
type Error struct {
	File   string
	Line   int    // from 1
	Key    string // place in the document, such as mcpServers.files.args[0]; empty for the document itself
	Reason string
}

// Error gives file, line, key and reason on one line.
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Key, e.Reason)
}

// Load reads the file at path, and its environment files, with the variables of
// this process. Load looks for a program whose name has spaces, because it may
// be a command with arguments. The error is an [*Error] if the file was read
// and is not a list of servers; a mistake in one server is in its Err.
func Load(path string) (*Config, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read server configuration: %w", err)
	}
	d := &decoder{file: path, lookup: os.LookupEnv, readFile: readBounded, missing: isMissing}
	return d.decode(data)
}

// Parse is Load for a text: name is the file's name in errors, lookup gives the
// variables, like [os.LookupEnv]; nil means no variables. It reads no file, so
// a server with an envFile cannot be used.
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

// isMissing reports whether no program of this name can be started in dir.
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
