// Package setup finds the file of servers, and reads it with the person's help.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Places are where a file of servers is looked for.
type Places struct {
	Project string // of the folder that the program is used in; it may come from a stranger
	User    string // of the person; "" if there is no place for it
	Trust   string // the folder that keeps which project files are trusted; "" keeps nothing
}

// UntrustedError means that there is no person to ask about a project's file.
type UntrustedError struct{ File string }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s names servers that you have not allowed yet, and there is no terminal to ask on: "+
		"give -config %s to use them, or -config none", e.File, e.File)
}

// File is a file of servers.
type File struct {
	Path    string
	places  *Places           // ask about the file; nil: it is the person's own
	content *content          // what is used, which the person has allowed; nil: what the file has when it is read
	used    map[string]string // the fingerprint of the content that each server was read from
}

// Find returns the first file there is: the project's, if the person trusts it, or the
// person's own. It tells which; nil means that there is none.
func (p *Places) Find(ctx context.Context, s screen.Screen) (*File, error) {
	data, err := readFile(p.Project)
	if err == nil {
		content, err := p.askTrust(ctx, s, data)
		if err != nil {
			return nil, err
		}
		if content != nil {
			s.Note(screen.Faint, "servers: by %s", hosttext.Line(p.Project, 400))
			return &File{Path: p.Project, places: p, content: content}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, &cli.FileError{Err: err}
	}
	if p.User != "" {
		if _, err := os.Stat(p.User); err == nil {
			s.Note(screen.Faint, "servers: by %s", hosttext.Line(p.User, 400))
			return &File{Path: p.User}, nil
		}
	}
	s.Note(screen.Faint, "servers: none; name a file by -config, or write %s or %s", p.Project, hosttext.Line(p.User, 400))
	return nil, nil
}

// Candidate is the file that Find would take, "" if there is none. Nothing of it is read.
func (p *Places) Candidate() string {
	for _, path := range []string{p.Project, p.User} {
		if info, err := os.Stat(path); path != "" && err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// readFile reads a project's file. A larger one than a program reads is an error later.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// maxFile bounds a project's file in bytes, as package config does.
const maxFile = 1 << 20
