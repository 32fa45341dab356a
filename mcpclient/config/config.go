// Package config reads mcp.json files into transports.
//
// It reads the files of Claude Desktop, Claude Code, Cursor, Windsurf, Cline and Gemini CLI, with servers under
// mcpServers, of VS Code, under servers or mcp.servers, and of Zed, under context_servers:
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
//	servers, err := new(config.Loader).Load(ctx, "mcp.json")
//	if err != nil {
//		return err
//	}
//	for _, s := range servers {
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
// Comments, trailing commas and a byte order mark are accepted. Files are read, never written.
// Servers that Claude Code keeps for one project, under projects of ~/.claude.json, are not read.
//
// The guide, docs/mcp-json.md of the repository, lists the keys of a server, the variables that its
// strings may name, and the keys of other programs; "mcpchain inspect" shows how a file is read.
//
// # Mistakes
//
// A key that is neither known nor meant for another program is an error with its file, line and key: a mistyped key
// must not silently start a server without its settings. Errors show no values, as they may be secrets, but for the
// path of an environment file.
//
// A mistake in one server is in the Err of that [Server], and the others can be used. Load fails if the list of servers
// is unknown: the file cannot be read, is not JSON, or has none of these keys.
//
// # Limits
//
// A file has at most 1 MiB and nests at most 64 levels deep; an environment file has at most 1 MiB. The first 100
// inputs are read, each with at most 100 choices; others are ignored. A timeout is at most 24 h.
package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxFile bounds a configuration and an environment file in bytes.
const maxFile = 1 << 20

// Server is one server of a file.
type Server struct {
	Name string

	// Transport is a *mcpclient.Command or a *mcpclient.HTTP. The host may set fields that a file cannot have, such as
	// a Stderr or a Client that signs in. It is nil for a disabled server. For a server with an Err, Dial returns that.
	Transport transport.Transport

	// Revision is the protocol revision to use, for mcpclient.Options or adapter.Server. ""
	// means the newest that both sides speak.
	Revision string

	// Start is "lazy" for a server that is connected at its first call, for Start of adapter.Server; otherwise "".
	Start string

	// Timeout is the longest silence of a call, for IdleTimeout of adapter.Server. 0 if the file does not set it.
	Timeout time.Duration

	// Allow and Deny select tools, for the fields of adapter.Server with these names.
	Allow, Deny []string

	// OAuth says how to sign in to a server over HTTP. Nil if the file does not say.
	OAuth *OAuth

	// EnvFile is the file with environment variables of the server's process, or "".
	EnvFile string

	// Disabled is true for servers that must not be used. Only their keys are checked.
	Disabled bool

	// Err says why the server cannot be used: its entry is invalid, is in the file twice, or needs
	// an unsupported feature, such as an input without [Loader.Input]. It does not affect other servers.
	Err error

	place place // where the entry is, see Annotate
}

// Loader loads files. The zero value is ready.
type Loader struct {
	// Input asks a person for a value that a server refers to as ${input:ID}, once per file.
	// Default: such a server cannot be used.
	Input func(ctx context.Context, in *Input) (string, error)

	// AllowFilters says that the program uses Allow and Deny of servers, and AllowSignIn that it uses their OAuth.
	// Default: a server with such settings cannot be used, because it would be used without them.
	AllowFilters, AllowSignIn bool

	// Only names the servers to load. A missing one is an error. Default: all.
	Only []string

	// EnvFile reads the environment file of a server. Default: a file of at most 1 MiB is read.
	EnvFile func(path string) ([]byte, error)
}

// Load returns the servers of the file at path, in its order and each name once. It reads their environment files, and
// expands the variables of this process. If the name of a program contains spaces and there is no such program, its
// server has an Err, because the name is probably a command with arguments. If the file was read but is not a list of
// servers, the error has the file and the line; a mistake in one server is in its Err. ctx is for Input.
func (l *Loader) Load(ctx context.Context, path string) ([]Server, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read server configuration: %w", err)
	}
	return l.LoadData(ctx, path, data)
}

// LoadData is Load for a file that the host has read, so that what a person has allowed is what is
// used. Environment files are read.
func (l *Loader) LoadData(ctx context.Context, path string, data []byte) ([]Server, error) {
	d := &decoder{opts: *l, file: path}
	if d.opts.EnvFile == nil {
		d.opts.EnvFile = readBounded
	}
	return d.parse(ctx, data)
}

// ParsePreview reads a file for a person who decides whether to use it: variables and inputs stay as they are written,
// and no other file is read. Its servers must not be used.
func ParsePreview(name string, data []byte) ([]Server, error) {
	d := &decoder{opts: Loader{AllowFilters: true, AllowSignIn: true}, file: name, preview: true}
	return d.parse(context.Background(), data)
}

// parse parses a document, and converts it to a configuration.
func (d *decoder) parse(ctx context.Context, data []byte) ([]Server, error) {
	root, err := parseDocument(data)
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		return nil, d.errorf(syntax.line, "", "%s", syntax.reason)
	}
	d.readInputs(ctx, root)
	return d.decode(root)
}

// readBounded reads a file of at most maxFile bytes. It refuses a pipe or device, which may
// block, unless the path shows that it is one: a shell's <(…) is in /dev.
func readBounded(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() && !strings.HasPrefix(path, "/dev/") {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
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

// isMissing reports whether no program with this name can be started in dir.
func isMissing(path, dir string) bool {
	if dir != "" && filepath.Base(path) != path && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, err := exec.LookPath(path)
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}
